/**
 * The visual identity of every page that the server sends: colors, type and the logo. The dashboard, the documentation,
 * the player and the pages below use the same values. Text colors have a contrast of at least 4.5:1 on `page` and
 * `surface`, and state colors have it on their own backgrounds.
 */
const LIGHT = {
  page: "#ffffff",
  surface: "#f7f8fa",
  "surface-hover": "#eff1f4",
  border: "#e3e6eb",
  "border-strong": "#d3d8df",
  text: "#171b21",
  muted: "#586172",
  accent: "#3451d1",
  "accent-hover": "#2941b0",
  "on-accent": "#ffffff",
  link: "#2941b0",
  mark: "#3451d1",
  good: "#15703a",
  "good-bg": "#e3f5e9",
  warning: "#845200",
  "warning-bg": "#fdf1d8",
  bad: "#a8201a",
  "bad-bg": "#fdeae8",
  info: "#2941b0",
  "info-bg": "#e8ecfe",
  neutral: "#4a5362",
  "neutral-bg": "#eceff3",
};

const DARK: typeof LIGHT = {
  page: "#101317",
  surface: "#171b21",
  "surface-hover": "#20252d",
  border: "#2b313b",
  "border-strong": "#343b46",
  text: "#e3e6eb",
  muted: "#9aa3b2",
  accent: "#4c65e6",
  "accent-hover": "#5b73ee",
  "on-accent": "#ffffff",
  link: "#a9b8ff",
  mark: "#8ea2ff",
  good: "#6fd596",
  "good-bg": "#13301f",
  warning: "#f0bd5e",
  "warning-bg": "#35290f",
  bad: "#ff9a92",
  "bad-bg": "#3c1a18",
  info: "#a9b8ff",
  "info-bg": "#1c2447",
  neutral: "#b9bfc9",
  "neutral-bg": "#262c35",
};

/** Colors by scheme and name. */
export const COLORS = { light: LIGHT, dark: DARK };

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const MONOSPACE = 'ui-monospace, "SF Mono", "Cascadia Mono", "Segoe UI Mono", "Roboto Mono", Menlo, monospace';

/** The logo, an envelope whose flap is a play button, on a 32-pixel grid. */
export const MARK_PATH =
  "M6 5h20a4 4 0 0 1 4 4v14a4 4 0 0 1-4 4H6a4 4 0 0 1-4-4V9a4 4 0 0 1 4-4zm6 5.500v11l9.500-5.500z";

/** The logo as an SVG file for browser tabs. */
export const MARK_ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><style>path{fill:${LIGHT.mark}}@media(prefers-color-scheme:dark){path{fill:${DARK.mark}}}</style><path d="${MARK_PATH}"/></svg>`;

const declarations = (colors: typeof LIGHT): string =>
  Object.entries(colors)
    .map(([name, value]) => `--rp-${name}:${value};`)
    .join("");

const SHARED = `--rp-font:${FONT};--rp-mono:${MONOSPACE};--rp-radius:6px;`;

/** The tokens as custom properties, `--rp-<name>`. They follow the system, or `data-scheme` of the root element. */
export const TOKENS_CSS = [
  `:root{color-scheme:light dark;${SHARED}${declarations(LIGHT)}}`,
  `@media (prefers-color-scheme:dark){:root{${declarations(DARK)}}}`,
  `:root[data-scheme=light]{color-scheme:light;${declarations(LIGHT)}}`,
  `:root[data-scheme=dark]{color-scheme:dark;${declarations(DARK)}}`,
].join("\n");

/** Only the dark tokens, for the player: its colors do not depend on the system. */
export const DARK_TOKENS_CSS = `:root{${SHARED}${declarations(DARK)}}`;
