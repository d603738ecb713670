// Around textual.js: focus, size of letters, title and icon, keys that stay the browser's, and what an end looks like.
"use strict";
(() => {
  const COLUMNS = 60; // that a narrow window still has
  const LARGEST = 16; // pixels of a letter
  const SMALLEST = 8;
  const CELL = 0.6001; // the width of a letter for its height; painted in whole pixels of the screen
  const OURS = "sb console";
  const SERVER_GONE = [1001, 1006]; // codes of a socket whose server went away

  const element = () => document.querySelector(".textual-terminal");
  const terminal = () => element().terminal; // the server adds it to textual.js

  const columns = (size) => {
    const ratio = window.devicePixelRatio;
    return Math.floor((window.innerWidth * ratio) / Math.floor(size * CELL * ratio));
  };
  const letters = () => {
    let size = LARGEST;
    while (size > SMALLEST && columns(size) < COLUMNS) size -= 1;
    return size;
  };

  const show = (title, icon) => {
    document.title = title;
    document.querySelector("link[rel=icon]").href = icon;
  };

  const ended = (code) => {
    const gone = SERVER_GONE.includes(code);
    document.querySelector(".why").textContent = gone
      ? "Closed. The server has ended: start sb console --web again."
      : "Closed. Reload to open again.";
    document.querySelector(".reload").hidden = gone;
    show(`Closed: ${OURS}`, "icon.svg");
  };

  // textual.js ignores kinds of messages that it does not know
  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...given) {
      super(...given);
      this.addEventListener("close", (event) => ended(event.code));
      this.addEventListener("message", ({ data }) => {
        if (typeof data !== "string") {
          take(); // from now on the app hears of it
          return;
        }
        const [kind, count] = JSON.parse(data);
        if (kind === "waiting") {
          show(count ? `(${count}) ${OURS}` : OURS, count ? "icon-waiting.svg" : "icon.svg");
        }
      });
    }
  };

  let taken = false;
  const take = () => {
    if (taken) return;
    taken = true;
    terminal().attachCustomKeyEventHandler(
      (event) => !(event.ctrlKey && !event.altKey && ["w", "t"].includes(event.key.toLowerCase())),
    );
    terminal().blur();
    terminal().focus();
  };

  document.addEventListener("DOMContentLoaded", () => {
    element().dataset.fontSize = letters(); // before textual.js makes its terminal
  });

  window.addEventListener("focus", () => terminal()?.focus());

  // before textual.js, which fits what is there by then
  window.addEventListener(
    "resize",
    () => {
      if (terminal()) terminal().options.fontSize = letters();
    },
    { capture: true },
  );
})();
