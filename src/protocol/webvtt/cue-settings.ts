/** Cue settings (WebVTT 4.4), limited to values on which players agree. */
const SETTINGS: Record<string, RegExp> = {
  vertical: /^(?:rl|lr)$/,
  line: /^(?:-?\d{1,4}|\d{1,3}(?:\.\d{1,6})?%)(?:,(?:start|center|end))?$/,
  position: /^\d{1,3}(?:\.\d{1,6})?%(?:,(?:line-left|center|line-right))?$/,
  size: /^\d{1,3}(?:\.\d{1,6})?%$/,
  align: /^(?:start|center|end|left|right)$/,
  region: /^[^\s:>]{1,100}$/,
};

/** Region settings (WebVTT 4.3). */
const REGION_SETTINGS: Record<string, RegExp> = {
  id: /^[^\s:>]{1,100}$/,
  width: SETTINGS["size"]!,
  lines: /^\d{1,3}$/,
  regionanchor: /^\d{1,3}(?:\.\d{1,6})?%,\d{1,3}(?:\.\d{1,6})?%$/,
  viewportanchor: /^\d{1,3}(?:\.\d{1,6})?%,\d{1,3}(?:\.\d{1,6})?%$/,
  scroll: /^up$/,
};

export const cueSettings = (text: string): string => known(text, SETTINGS);
export const regionSettings = (text: string): string => known(text, REGION_SETTINGS);

/** Returns the valid settings, each once with its last value. "middle" is the old name for "center". */
function known(text: string, patterns: Record<string, RegExp>): string {
  const kept = new Map<string, string>();
  for (const setting of text.split(/[\s]+/)) {
    const colon = setting.indexOf(":");
    const name = setting.slice(0, Math.max(colon, 0));
    const value = name === "align" ? setting.slice(colon + 1).replace("middle", "center") : setting.slice(colon + 1);
    if (Object.hasOwn(patterns, name) && patterns[name]!.test(value)) kept.set(name, value);
  }
  return [...kept].map(([name, value]) => `${name}:${value}`).join(" ");
}
