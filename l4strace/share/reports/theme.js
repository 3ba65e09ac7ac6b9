// Before first paint: the theme that was chosen last, or none (the system's).
try {
  const chosen = localStorage.getItem("l4strace-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* a page from a file may have no storage */ }
