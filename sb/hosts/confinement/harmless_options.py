"""Options with which a program that has keys starts no other one, reads no other configuration and sends no login elsewhere.

A list of what is harmful lost to spelling: programs take short options in one word and long ones cut short. So only a line
whose every option is listed here gets keys unasked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_SSH_SETTINGS = (
    "StrictHostKeyChecking|ConnectTimeout|ConnectionAttempts|BatchMode|ServerAliveInterval|ServerAliveCountMax|IdentitiesOnly|"
    "IdentityFile|Port|User|LogLevel|UserKnownHostsFile|GlobalKnownHostsFile|PreferredAuthentications|PasswordAuthentication|"
    "PubkeyAuthentication|KbdInteractiveAuthentication|GSSAPIAuthentication|TCPKeepAlive|Compression|AddressFamily|CheckHostIP|"
    "HostKeyAlgorithms|PubkeyAcceptedAlgorithms|PubkeyAcceptedKeyTypes|KexAlgorithms|Ciphers|MACs|RequestTTY|HashKnownHosts|"
    "NumberOfPasswordPrompts|UpdateHostKeys|VisualHostKey"
)
_OF_SSH = rf"(?i:{_SSH_SETTINGS})[= ][^\n]*"


class Options(NamedTuple):
    """The harmless options of one program.

    Args:
        flags, valued, attached: letters of short options; of the second kind a value follows, in the word or behind it, of
            the third only in the word.
        words: long options without their dashes; `name=` has a value.
        pattern: of further long options with a value, by their names.
        operands: of the first two operands, joined by a null character; subcommands that it has by itself.
        free: of the operands behind which another machine's words begin.
        settings: of the value of `-o`. first: so many words are its subcommand, and stand before any option.
        before: long options with a value that stand before these all the same.
        ends_options: "--" ends them.
    """

    flags: str = ""
    valued: str = ""
    words: str = ""
    attached: str = ""
    pattern: str = "(?!)"
    operands: str = r"[\s\S]*"
    free: str = "(?!)"
    settings: str = r"[\s\S]*"
    ends_options: bool = False
    first: int = 0
    before: tuple[str, ...] = ()


_TABLE: tuple[tuple[str, Options], ...] = (
    ("ssh", Options("46CNTnqtvaxX", "pliocmbB", free=r"[^\0]+\0[\s\S]+", settings=_OF_SSH)),
    ("scp", Options("346BCOTpqrv", "Plico", settings=_OF_SSH, ends_options=True)),
    ("rsync", Options("arlptgoDvqnuzhHAXxPcCSWmOJkKLbRdy4680I", "BT", ends_options=True, pattern="no-[a-z-]+", words=(
        "archive recursive links times perms owner group devices specials verbose quiet dry-run update compress human-readable hard-links "
        "acls xattrs one-file-system progress partial stats checksum cvs-exclude sparse whole-file delete delete-before delete-during "
        "delete-delay delete-after delete-excluded force exclude= exclude-from= include= include-from= info= partial-dir= size-only "
        "ignore-existing existing ignore-times itemize-changes list-only bwlimit= max-size= min-size= max-delete= timeout= contimeout= "
        "port= chmod= mkpath prune-empty-dirs inplace append append-verify delay-updates numeric-ids safe-links copy-links relative "
        "dirs remove-source-files backup backup-dir= suffix= compare-dest= copy-dest= link-dest= out-format= temp-dir= "
        "compress-level= modify-window= ipv4 ipv6 version help"))),
    ("ssh-add", Options("lLDdkqvcT", "tE")),
    ("gpg gpg2", Options("abcdekKsvqtn", "oruRNz", ends_options=True, words=(
        "sign detach-sign clear-sign clearsign encrypt symmetric decrypt verify armor no-armor list-keys list-public-keys "
        "list-secret-keys list-sigs list-signatures check-sigs check-signatures fingerprint list-packets show-keys import export "
        "export-ssh-key recv-keys receive-keys send-keys search-keys refresh-keys locate-keys delete-keys generate-key gen-key "
        "full-generate-key full-gen-key quick-generate-key quick-gen-key card-status update-trustdb check-trustdb output= recipient= "
        "hidden-recipient= local-user= default-key= default-recipient-self encrypt-to= set-filename= batch no-batch yes no quiet verbose no-verbose "
        "dry-run keyserver= keyid-format= with-colons with-fingerprint with-subkey-fingerprint with-keygrip with-secret no-tty "
        "status-fd= command-fd= passphrase-fd= passphrase= passphrase-file= pinentry-mode= trust-model= always-trust textmode "
        "digest-algo= cipher-algo= compress-algo= compression-algo= throw-keyids import-options= export-options= keyring= no-default-keyring no-auto-key-locate "
        "comment= multifile version help list-config fixed-list-mode"))),
    ("twine", Options("h", "rup", first=1, operands=r"(?:upload|check|register)\0[\s\S]*", words=(
        "skip-existing verbose disable-progress-bar non-interactive repository= username= password= comment= attestations strict version help"))),
    ("wget", Options("qvcNrpkEmHSFLx46", "OPtTwQlARDIUiB", attached="n", ends_options=True, words=(
        "quiet verbose no-verbose output-document= continue timestamping no-clobber tries= timeout= connect-timeout= read-timeout= "
        "dns-timeout= wait= waitretry= random-wait limit-rate= quota= server-response spider recursive level= no-parent mirror "
        "page-requisites convert-links adjust-extension span-hosts domains= exclude-domains= accept= reject= accept-regex= "
        "reject-regex= include-directories= exclude-directories= directory-prefix= no-host-directories cut-dirs= no-directories "
        "user-agent= header= referer= content-disposition trust-server-names show-progress progress= no-cookies max-redirect= method= "
        "body-data= body-file= post-data= post-file= user= password= http-user= http-password= auth-no-challenge inet4-only inet6-only https-only "
        "compression= retry-connrefused retry-on-http-error= input-file= delete-after no-proxy no-dns-cache save-headers "
        "restrict-file-names= no-if-modified-since no-use-server-timestamps version help"))),
    ("hf huggingface-cli", Options("hq", first=1, operands=r"(?:download|env|whoami|version|repo|repos|models|datasets|cache|scan-cache|auth\0(?:whoami|list))(?:\0[\s\S]*)?", words=(
        "repo-type= type= revision= include= exclude= local-dir= cache-dir= quiet force-download resume-download max-workers= dry-run "
        "format= limit= search= author= sort= verbose help"))),
    ("keyring", Options("h", words="mode= output= list-backends help")),
    ("secret-tool", Options(words="label= all unlock collection= version help")),
    ("conda mamba micromamba", Options("efhqv", "cnp", words=(
        "json all envs explicit export override-channels channel= name= prefix= info base show get= show-sources no-pip full-name "
        "subdir= platform= offline quiet verbose revisions md5 canonical system add= append= prepend= set= remove= help"))),
    ("gem", Options("adeilrqhV", "vn", words=(
        "remote local both all exact installed no-installed version= details no-details versions no-versions prerelease no-prerelease "
        "pre name-matches quiet verbose help"))),
    ("gh glab hub", Options("acdfhinpsvwy", "ABDFHLOPRTXbejklmoqrtEMNSgux", first=1, operands=(
        r"(?:pr|mr|issue|repo|release|run|workflow|api|search|browse|label|gist|auth|status|project|secret|variable|cache|ruleset|"
        r"ssh-key|gpg-key|org|ci|ci-status|pipeline|job|milestone|snippet|user|schedule|iteration|incident|changelog|version|help)(?:\0[\s\S]*)?"), words=(
        "title= body= body-file= description= draft fill fill-first fill-verbose base= head= label= assignee= reviewer= milestone= project= "
        "web repo= state= limit= json= jq= template= author= search= app= comments comment= squash merge rebase delete-branch auto "
        "disable-auto admin match-head-commit= subject= approve request-changes name-only patch color= branch= detach force "
        "recurse-submodules remove-label= add-label= remove-assignee= add-assignee= add-reviewer= remove-reviewer= add-project= "
        "remove-project= edit-last create-if-none delete-last yes required watch interval= fail-fast exit-status log log-failed "
        "verbose job= attempt= workflow= user= event= status= commit= created= all failed name= dir= pattern= ref= field= raw-field= "
        "method= header= paginate slurp include silent cache= input= preview= notes= notes-file= notes-from-tag notes-start-tag= "
        "generate-notes prerelease latest verify-tag target= discussion-category= tag= clobber skip-existing archive= output= "
        "exclude-drafts exclude-pre-releases order= cleanup-tag public private internal clone remote= source= push "
        "add-readme gitignore= license= homepage= topic= language= visibility= fork no-archived archived owner= sort= match= extension= "
        "size= merged closed updated involves= mentions= checks= review= reviewed-by= review-requested= linked= env= env-name= org= "
        "repos= no-store key= raw files filename= desc= reason= duplicate-of= develop checkout parent "
        "oneline with-body help version source-branch= target-branch= remove-source-branch squash-before-merge "
        "allow-collaboration no-maintainer-edit wip ready opened merge-commit= group= page= per-page= mine assigned "
        "when-pipeline-succeeds auto-merge sha= message= resolve unresolve"))),
    ("kubectl oc", Options("AhRLiqtw", "nlofcpC", ends_options=True, operands=(
        r"(?:get|describe|logs|apply|create|delete|exec|rollout|scale|top|api-resources|api-versions|explain|cluster-info|version|auth|"
        r"wait|label|annotate|patch|expose|set|edit|diff|cp|run|cordon|uncordon|drain|taint|autoscale|debug|events|replace|certificate|"
        r"attach|options|status|project|projects|whoami|cancel-build|rsh|new-project|tag|idle|process|import-image)(?:\0[\s\S]*)?"), words=(
        "namespace= all-namespaces selector= output= filename= recursive container= all-containers follow tail= since= since-time= "
        "timestamps previous prefix max-log-requests= limit-bytes= watch watch-only show-labels no-headers sort-by= label-columns= "
        "field-selector= context= cluster= request-timeout= show-kind show-managed-fields ignore-not-found chunk-size= template= "
        "allow-missing-template-keys dry-run server-side force-conflicts field-manager= validate prune force "
        "grace-period= now wait timeout= for= cascade all replicas= current-replicas= to-revision= revision= image= restart= rm "
        "stdin tty quiet env= port= labels= overwrite list type= name= target-port= protocol= external-ip= "
        "patch= patch-file= local from-literal= from-file= from-env-file= save-config docker-server= docker-username= "
        "docker-password= docker-email= cert= key= append-hash min= max= cpu-percent= containers ignore-daemonsets "
        "delete-emptydir-data delete-local-data pod-selector= disable-eviction sum namespaced verbs= api-group= cached client "
        "short subresource= role= clusterrole= serviceaccount= user= group= verb= resource= resource-name= retries= current raw= help"))),
    ("stern", Options("Ahi", "nlscoeE", words=(
        "namespace= all-namespaces selector= output= container= tail= since= timestamps context= exclude= exclude-container= include= "
        "color= init-containers no-follow max-log-requests= help"))),
    ("docker docker-compose nerdctl podman buildah skopeo", Options("dfiqrstyAITPV", "egmnpuvwcELo", free=(
        r"(?:container\0)?(?:run|exec|create)\0[^\0]+|compose\0(?:run|exec)\0[^\0]+"), words=(
        "all quiet format= filter= no-trunc size latest last= follow tail= since= until= timestamps details digests tree help version "
        "detach rm interactive tty name= env= env-file= publish= publish-all volume= mount= tmpfs= workdir= user= network= net= "
        "network-alias= hostname= add-host= dns= entrypoint= platform= pull= restart= memory= cpus= shm-size= gpus= ulimit= label= "
        "read-only init privileged cap-add= cap-drop= security-opt= device= link= expose= ip= pid= ipc= log-driver= log-opt= "
        "health-cmd= health-interval= health-retries= health-timeout= no-healthcheck stop-signal= stop-timeout= userns= uts= "
        "volumes-from= group-add= sig-proxy= detach-keys= cidfile= "
        "tag= file= build-arg= target= no-cache progress= cache-from= cache-to= squash load push output= secret= ssh= iidfile= "
        "build-context= force-rm no-cache-filter= provenance= sbom= metadata-file= attest= force-recreate no-recreate build no-build "
        "no-deps no-start remove-orphans renew-anon-volumes abort-on-container-exit exit-code-from= scale= wait wait-timeout= "
        "timeout= volumes rmi= profile= project-name= project-directory= ansi= no-color no-log-prefix services images hash= "
        "no-interpolate index= parallel= watch attach= attach-dependencies always-recreate-deps quiet-pull ignore-pull-failures "
        "include-deps dry-run json force all-tags disable-content-trust time= signal= message= author= change= pause driver= opt= subnet= "
        "gateway= attachable username= password-stdin limit= no-stream type= human verbose archive follow-link no-prune "
        "stars= reserved-space= max-used-space= min-free-space= compress raw override-os= override-arch= src-creds= dest-creds= src-tls-verify= dest-tls-verify="))),
    ("aws", Options(first=2, before=("--profile", "--region", "--output"), operands=(
        r"[a-z0-9-]+|(?!configure\0)[a-z0-9-]+\0(?:(?:describe|list|get|head|search|batch|put|create|delete|update(?!-kubeconfig)|modify|add|remove|"
        r"attach|detach|associate|disassociate|start(?!-session)|stop|reboot|terminate|run|send|receive|tag|untag|"
        r"enable|disable|register|deregister|filter|lookup|schedule|transact|copy|cancel|complete|abort|upload|restore|validate|"
        r"decode|assume|test|change|set|admin|initiate|purge|issue|allocate|release|rotate|import|simulate)-(?!login(?:\0|$))[a-z0-9-]+"
        r"|ls|cp|sync|mv|rm|mb|rb|presign|tail|wait|help|deploy|query|scan|publish|invoke|encrypt|decrypt|get-login-password)(?:\0[\s\S]*)?"),
        pattern=r"(?:[a-z0-9-]+-)?(?:name|names|id|ids|arn|arns|identifier|reference|days|prefix|bucket|key|keys|token|type|types|status|pattern|time|group|groups|stack|version|stage|count|limit|tags|number|size|period|attributes|values|expression|body|file)",
        words=(
        "profile= region= output= query= no-cli-pager no-paginate color= cli-read-timeout= cli-connect-timeout= cli-binary-format= "
        "max-items= page-size= starting-token= filters= filter= recursive human-readable summarize delete exclude= include= dryrun "
        "quiet only-show-errors no-progress acl= content-type= cache-control= storage-class= metadata= sse= follow since= format= "
        "cluster= service= services= tasks= task= task-definition= desired-count= force-new-deployment force force-delete-without-recovery skip-final-snapshot queue-url= launch-type= table= "
        "item= path= with-decryption overwrite value= parameters= capabilities= template-body= template-file= "
        "no-fail-on-empty-changeset no-execute-changeset tags= user= role= policy= policy-document= payload= invocation-type= log-type= "
        "statistics= dimensions= metric= namespace= unit= message= subject= topic= secret-string= description= dry-run no-dry-run "
        "include-all-instances owners= image= resources= resource= document= start= end= scan-index-forward no-scan-index-forward "
        "consistent-read expires-in= metrics= granularity= target= targets= environment= handler= runtime= role-session-name= "
        "duration-seconds= distribution= paths= instances= volumes= no-reboot follow-symlinks no-follow-symlinks "
        "delimiter= configuration= family= container-definitions= cpu= memory= network-configuration= restart= code= zip-file= publish architectures="))),
)  # fmt: skip
# Subcommands of git that sign. Not `--continue` and the like: what they go on with lies in the repository, commands among it.
_OF_GIT = {
    "commit": Options("asnqv", "mFC", attached="Su", ends_options=True, words=(
        "all message= amend no-edit quiet verbose no-verify signoff no-signoff allow-empty allow-empty-message author= date= fixup= "
        "squash= reuse-message= reset-author file= dry-run short status no-status only include gpg-sign no-gpg-sign trailer= "
        "no-post-rewrite branch porcelain")),
    "tag": Options("asdflvi", "mFu", attached="n", ends_options=True, words=(
        "annotate sign no-sign delete force list message= file= local-user= sort= contains= merged= no-merged= points-at= format= "
        "verify ignore-case")),
    "merge": Options("nqv", "mFX", attached="S", ends_options=True, words=(
        "ff no-ff ff-only commit no-commit squash no-squash edit no-edit message= file= quiet verbose stat no-stat signoff no-verify "
        "gpg-sign no-gpg-sign autostash no-autostash allow-unrelated-histories strategy-option= abort quit progress no-progress log no-log")),
    "rebase": Options("qvfni", "X", attached="S", ends_options=True, words=(
        "interactive autosquash no-autosquash onto= quiet verbose stat no-stat force-rebase no-ff fork-point no-fork-point keep-base root autostash no-autostash "
        "rebase-merges update-refs no-update-refs signoff gpg-sign no-gpg-sign reapply-cherry-picks committer-date-is-author-date "
        "strategy-option= no-verify abort quit")),
    "cherry-pick": Options("xns", "mX", attached="S", ends_options=True, words=(
        "no-commit signoff mainline= ff allow-empty keep-redundant-commits strategy-option= gpg-sign no-gpg-sign abort quit")),
    "revert": Options("ns", "mX", attached="S", ends_options=True, words="no-edit no-commit signoff mainline= strategy-option= gpg-sign no-gpg-sign abort quit"),
    "am": Options("3qskc", "p", attached="S", ends_options=True, words=(
        "3way quiet signoff keep keep-non-patch scissors no-scissors message-id whitespace= exclude= include= directory= "
        "ignore-whitespace gpg-sign no-gpg-sign abort quit")),
}  # fmt: skip
_BY_PROGRAM = {name: options for names, options in _TABLE for name in names.split()} | {
    f"git {name}": options for name, options in _OF_GIT.items()
}
# No program has an option of a blank: a text that begins so is a value, as of `gh pr create --body "- first"`.
_TEXT = re.compile(r"-\s[\s\S]*")
_OPTION_VALUE = "o"


def has_harmless_options(argv: Sequence[str]) -> bool:
    """True for a command whose every option is a harmless one; False for a program without a list.

    Args:
        argv: with its program.
    """
    start = 2 if argv[0] == "git" else 1
    options = _BY_PROGRAM.get(" ".join(argv[:start]))
    return options is not None and _all_harmless(options, argv[start:])


def _all_harmless(options: Options, words: Sequence[str]) -> bool:
    while words and words[0].partition("=")[0] in options.before:
        words = words[1 if "=" in words[0] else 2 :]
    if any(word.startswith("-") for word in words[: options.first]):
        return False
    operands: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word == "--":
            return options.ends_options and _fits(options, [*operands, *reversed(rest)])
        if word == "-" or not word.startswith("-") or _TEXT.fullmatch(word):
            operands.append(word)
            if re.fullmatch(options.free, "\0".join(operands)):
                break
            continue
        taken = _value_taken(options, word)
        if taken is None:
            return False
        name, value = taken
        # A value that looks like an option is looked at as one: some programs have the same letter with a value and without.
        if value is None and rest and not rest[-1].startswith("-"):
            value = rest.pop()
        if name == _OPTION_VALUE and not re.fullmatch(options.settings, value or ""):
            return False
    return _fits(options, operands)


def _fits(options: Options, operands: Sequence[str]) -> bool:
    return not operands or re.fullmatch(options.operands, "\0".join(operands)) is not None


def _value_taken(options: Options, word: str) -> tuple[str, str | None] | None:
    """The option that ends a word with its value, "" for none in it or behind it, None for one behind it.

    None for a word with an option that is not listed.
    """
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        known = _words(options)
        if name in known:
            return name, value if equals or not known[name] else None
        return (name, value if equals else None) if re.fullmatch(options.pattern, name) else None
    for index, letter in enumerate(word[1:], start=2):
        if letter in options.valued:
            return letter, word[index:] or None
        if letter in options.attached:
            return letter, word[index:]
        if letter not in options.flags:
            return None
    return "", ""


@lru_cache(32)
def _words(options: Options) -> dict[str, bool]:
    """The long options, and True for those with a value."""
    return {name.rstrip("="): name.endswith("=") for name in options.words.split()}
