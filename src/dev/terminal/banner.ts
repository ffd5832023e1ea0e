import { painter, type Paint } from "../../kernel/paint.ts";
import { type Binding } from "../../workers/index.ts";
import { describeBinding } from "../../workers/project/index.ts";

export interface BannerContent {
  version: string;
  /** Without a trailing slash. */
  url: string;
  dashboard?: string;
  smtp?: { host: string; port: number };
  dataDirectory: string;
  mailDirectory: string;
  /** The default worker first. */
  workers: { name: string; config: string; bindings: Binding[] }[];
  /** Empty without a keyboard. */
  hotkeys: { key: string; label: string }[];
}

/** Returns the start banner: URLs, commands to paste, bindings and hotkeys. */
export function renderBanner(content: BannerContent, colour: boolean): string {
  const paint = painter({ colour });
  const row = (label: string, value: string) => `  ${label.padEnd(10)}  ${value}`;
  const { url, dashboard, smtp } = content;
  const lines = [
    `${paint("bold", "reelpost dev")} ${paint("dim", content.version)}`,
    "",
    row("HTTP", paint("cyan", `${url}/`)),
    ...(dashboard === undefined ? [] : [row("Dashboard", paint("cyan", dashboard))]),
    row("SMTP", smtp ? paint("cyan", `${smtp.host}:${smtp.port}`) : paint("dim", "off")),
    row("Data", content.dataDirectory),
    row("Mail out", `${content.mailDirectory} ${paint("dim", "(.eml files)")}`),
    "",
    paint("dim", "Send the worker a message:"),
    `  ${curlWithEnvelope(url)}`,
    `  ${curlWithHeaders(url)}`,
    "",
    ...content.workers.flatMap((worker) => workerTable(worker, paint)),
  ];
  if (content.workers.length > 1) lines.push(...severalWorkersHint(content, paint), "");
  if (content.hotkeys.length > 0) lines.push(...hotkeyBox(content.hotkeys, paint));
  return lines.join("\n").trimEnd();
}

const SAMPLE =
  "From: ada@example.com\\nTo: inbox@example.org\\nMessage-ID: <1@example.com>\\nSubject: Hello\\n\\nHello from curl";

// bash, zsh and ksh support $'...'; --data-binary keeps the line breaks.
const curlWithEnvelope = (url: string) =>
  `curl '${url}/cdn-cgi/handler/email?from=ada@example.com&to=inbox@example.org' --data-binary $'${SAMPLE}'`;
const curlWithHeaders = (url: string) =>
  `curl '${url}/__email' -H 'content-type: message/rfc822' --data-binary $'${SAMPLE}'`;

function workerTable({ name, config, bindings }: BannerContent["workers"][number], paint: Paint): string[] {
  const rows = bindings.map((binding) => {
    const { type, value } = describeBinding(binding, "dev");
    return [binding.name, type, value] as const;
  });
  const width = (column: 0 | 1) => Math.max(0, ...rows.map((row) => row[column].length));
  const [names, types] = [width(0), width(1)];
  return [
    `${paint("bold", name)} ${paint("dim", config)}`,
    ...rows.map(([binding, type, value]) =>
      `  env.${binding.padEnd(names)}  ${type.padEnd(types)}  ${paint("dim", value)}`.trimEnd(),
    ),
    ...(rows.length === 0 ? [paint("dim", "  no bindings")] : []),
    "",
  ];
}

function severalWorkersHint({ url, workers }: BannerContent, paint: Paint): string[] {
  const otherWorker = workers[1]!.name;
  return [
    paint(
      "dim",
      `Mail and requests go to ${workers[0]!.name}. For another worker, prefix the path with /cdn-cgi/worker/NAME or use NAME.localhost:`,
    ),
    `  ${url}/cdn-cgi/worker/${otherWorker}/`,
    `  ${url}/cdn-cgi/handler/email?worker=${otherWorker}&from=...&to=...`,
  ];
}

function hotkeyBox(hotkeys: BannerContent["hotkeys"], paint: Paint): string[] {
  const plainText = hotkeys.map(({ key, label }) => `[${key}] ${label}`).join("  ");
  const colouredText = hotkeys.map(({ key, label }) => `${paint("bold", `[${key}]`)} ${label}`).join("  ");
  const edge = "─".repeat(plainText.length + 2);
  return [`╭${edge}╮`, `│ ${colouredText} │`, `╰${edge}╯`];
}
