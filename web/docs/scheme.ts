// Selects the color scheme of the dashboard, which is on the same origin, before the page is drawn.
const scheme = localStorage.getItem("mantine-color-scheme-value");
if (scheme === "light" || scheme === "dark") document.documentElement.dataset.scheme = scheme;
