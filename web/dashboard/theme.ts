import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";
import { COLORS, FONT, MONOSPACE } from "../../src/kernel/design/tokens.ts";

/** The accent: an indigo whose shade 6 has a contrast of 6.5:1 to white, and shade 3 of 7:1 to the dark background. */
const accent: MantineColorsTuple = [
  "#eef1ff",
  "#dde3fd",
  "#b9c5fa",
  "#93a5f7",
  "#6d84f0",
  "#4c65e6",
  "#3451d1",
  "#2941b0",
  "#20348d",
  "#1a2a6f",
];

const gray: MantineColorsTuple = [
  "#f7f8fa",
  "#eff1f4",
  "#e3e6eb",
  "#d3d8df",
  "#b6bdc8",
  "#8d96a5",
  "#667080",
  "#4a5362",
  "#2f3642",
  "#1a1f28",
];

const dark: MantineColorsTuple = [
  "#d5d9e0",
  "#b9bfc9",
  "#949cab",
  "#626b7a",
  "#3c434f",
  "#2b313b",
  "#20252d",
  "#171b21",
  "#101317",
  "#0b0d10",
];

export const theme = createTheme({
  colors: { accent, gray, dark },
  primaryColor: "accent",
  primaryShade: { light: 6, dark: 5 },
  black: "#171b21",
  fontFamily: FONT,
  fontFamilyMonospace: MONOSPACE,
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.125rem" },
  lineHeights: { xs: "1.4", sm: "1.45", md: "1.5", lg: "1.5", xl: "1.5" },
  headings: {
    fontWeight: "600",
    sizes: {
      h1: { fontSize: "1.25rem", lineHeight: "1.3" },
      h2: { fontSize: "1rem", lineHeight: "1.4" },
      h3: { fontSize: "0.875rem", lineHeight: "1.4" },
    },
  },
  spacing: { xs: "0.5rem", sm: "0.75rem", md: "1rem", lg: "1.5rem", xl: "2rem" },
  defaultRadius: 6,
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: "xs", fw: 500 } },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray", size: "md" } },
    TextInput: { defaultProps: { size: "sm" } },
    PasswordInput: { defaultProps: { size: "sm" } },
    Textarea: { defaultProps: { size: "sm" } },
    NumberInput: { defaultProps: { size: "sm" } },
    Select: { defaultProps: { size: "sm", allowDeselect: false, checkIconPosition: "right" } },
    MultiSelect: { defaultProps: { size: "sm" } },
    TagsInput: { defaultProps: { size: "sm" } },
    Checkbox: { defaultProps: { size: "sm" } },
    Switch: { defaultProps: { size: "sm" } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    Modal: { defaultProps: { centered: false, yOffset: "8dvh", size: "md", transitionProps: { duration: 120 } } },
    Menu: { defaultProps: { position: "bottom-end", shadow: "md", transitionProps: { duration: 80 } } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: false, transitionProps: { duration: 80 } } },
    Paper: { defaultProps: { withBorder: true, p: "md" } },
    Badge: { defaultProps: { variant: "light", radius: "sm", tt: "none", fw: 500 } },
    Code: { defaultProps: { fz: "xs" } },
    Table: { defaultProps: { verticalSpacing: 6, horizontalSpacing: 12, fz: "sm" } },
  },
});

/** Returns the tokens that all pages of the server share, and the same values for components. */
const schemeVariables = (colors: typeof COLORS.light): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(colors).map(([name, value]) => [`--rp-${name}`, value])),
  "--mantine-color-body": colors.page,
  "--mantine-color-dimmed": colors.muted,
  "--mantine-color-error": colors.bad,
  "--mantine-color-anchor": colors.link,
  "--mantine-color-accent-light-color": colors.link,
  "--mantine-color-gray-light-color": colors.neutral,
  "--mantine-color-gray-text": colors.neutral,
  "--mantine-color-red-light-color": colors.bad,
  "--mantine-color-green-light-color": colors.good,
  "--mantine-color-yellow-light-color": colors.warning,
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {
    "--rp-sidebar-width": "15rem",
    "--mantine-color-placeholder": "var(--mantine-color-dimmed)",
  },
  light: {
    ...schemeVariables(COLORS.light),
    "--mantine-color-placeholder": "#6b7485",
    "--mantine-color-red-filled": "#c0281f",
    "--mantine-color-red-filled-hover": "#a8201a",
  },
  dark: {
    ...schemeVariables(COLORS.dark),
    "--mantine-color-text": COLORS.dark.text,
    "--mantine-color-placeholder": "#8a93a3",
    "--mantine-color-default-border": COLORS.dark["border-strong"],
    "--mantine-color-red-filled": "#c9382f",
    "--mantine-color-red-filled-hover": "#d5473e",
  },
});
