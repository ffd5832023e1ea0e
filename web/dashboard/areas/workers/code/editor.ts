import { HighlightStyle, syntaxHighlighting, type LanguageSupport } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Read-only views of code. Colours are variables of the theme, so that they follow the colour scheme. */

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword, tags.controlKeyword], color: "var(--rp-info)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--rp-good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--rp-warning)" },
  { tag: tags.comment, color: "var(--mantine-color-dimmed)", fontStyle: "italic" },
  { tag: tags.function(tags.definition(tags.variableName)), fontWeight: "600" },
]);

const look = EditorView.theme({
  "&": { fontSize: "0.75rem", backgroundColor: "var(--rp-surface)", color: "var(--mantine-color-text)" },
  "&.cm-focused": { outline: "2px solid var(--mantine-color-anchor)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: "var(--mantine-font-family-monospace)", lineHeight: "1.6" },
  ".cm-gutters": {
    backgroundColor: "var(--rp-surface)",
    color: "var(--mantine-color-dimmed)",
    borderRight: "1px solid var(--rp-border)",
  },
});

async function languageOf(name: string): Promise<LanguageSupport | undefined> {
  if (/\.json$/i.test(name)) return (await import("@codemirror/lang-json")).json();
  if (/\.[mc]?[jt]sx?$/i.test(name)) return (await import("@codemirror/lang-javascript")).javascript();
  return undefined;
}

async function extensionsFor(name: string): Promise<Extension[]> {
  const language = await languageOf(name);
  return [
    lineNumbers(),
    EditorState.readOnly.of(true),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": name, "aria-readonly": "true" }),
    syntaxHighlighting(highlighting),
    look,
    ...(language === undefined ? [] : [language]),
  ];
}

/** Shows a module in `parent`; with `before`, its changes from that text. Returns a function that removes it. */
export async function showCode(
  parent: HTMLElement,
  { name, text, before }: { name: string; text: string; before?: string },
): Promise<() => void> {
  const extensions = await extensionsFor(name);
  if (before !== undefined) {
    const { unifiedMergeView } = await import("@codemirror/merge");
    extensions.push(
      unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }),
    );
  }
  const view = new EditorView({ parent, doc: text, extensions });
  return () => view.destroy();
}
