"""Python functions whose every call the kernel governs."""
