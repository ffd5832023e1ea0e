import { oneLine } from "../../kernel/text.ts";
import { connectToApi } from "../api/connect.ts";
import { type Command, defineCommand } from "../command.ts";
import { onInterrupt } from "../interrupt.ts";
import { nameValueLines, formatUtcTime, printResult, table } from "../print.ts";
import { serverOptions } from "../shared-options.ts";

interface Health {
  status: string;
  components: { name: string; status: string; reason: string; fix: string | null }[];
  attention: { kind: string; status: string; text: string; fix: string }[];
}

const serverHealth = defineCommand({
  name: "server health",
  summary: "show the state of components, and what needs attention",
  description: "Components are shown to the operator only. The exit code is 1 if the status is error.",
  options: serverOptions,
  examples: [["reelpost server health", "components, and problems of the account"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const health = await api.result<Health>("GET", `${base}/health`);
    printResult(context, health, (paint) => [
      `status: ${health.status}`,
      ...(health.components.length === 0
        ? []
        : [
            "",
            ...table(
              ["component", "status", "reason"],
              health.components.map(({ name, status, reason, fix }) => [
                name,
                status,
                status === "ok" || fix === null ? reason : `${reason} ${fix}`,
              ]),
              paint,
            ),
          ]),
      ...(health.attention.length === 0
        ? []
        : [
            "",
            ...table(
              ["status", "problem", "fix"],
              health.attention.map(({ status, text, fix }) => [status, text, fix]),
              paint,
            ),
          ]),
    ]);
    return health.status === "error" ? 1 : 0;
  },
});

interface Description {
  version: string;
  started: string;
  roles: string[];
  database: string;
  urls: { name: string; url: string }[];
}

const serverInfo = defineCommand({
  name: "server info",
  summary: "show version, roles and URLs of the server (operators only)",
  options: serverOptions,
  examples: [["reelpost server info --json", "for scripts"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const server = await api.result<Description>("GET", `${base}/server`);
    printResult(context, server, (paint) =>
      nameValueLines(
        [
          ["version", server.version],
          ["started", formatUtcTime(server.started)],
          ["roles", server.roles.join(", ")],
          ["database", server.database],
          ...server.urls.map(({ name, url }) => [name, url] as const),
        ],
        paint,
      ),
    );
    return 0;
  },
});

interface Setting {
  name: string;
  value: unknown;
  origin: string;
  secret: boolean;
}

const valueOf = ({ value, secret }: Setting) => (secret ? (value === "" ? "" : "(secret)") : JSON.stringify(value));

const serverSettings = defineCommand({
  name: "server settings",
  summary: "list the effective settings and their origin, without secrets (operators only)",
  options: {
    changed: { type: "boolean", summary: "only settings that differ from the default" },
    ...serverOptions,
  },
  examples: [["reelpost server settings --changed", "what the file, the environment and the command line set"]],
  async run({ changed, ...values }, _, context) {
    const { api, base } = await connectToApi(values, context);
    const settings = (await api.result<Setting[]>("GET", `${base}/server/settings`)).filter(
      ({ origin }) => changed !== true || origin !== "default",
    );
    printResult(context, settings, (paint) =>
      table(
        ["setting", "value", "origin"],
        settings.map((setting) => [setting.name, valueOf(setting), setting.origin]),
        paint,
      ),
    );
    return 0;
  },
});

interface Certificate {
  names: string[];
  source: string;
  not_after: string | null;
  error: string | null;
}

const serverCertificates = defineCommand({
  name: "server certificates",
  summary: "list the TLS certificates of the server (operators only)",
  options: serverOptions,
  examples: [["reelpost server certificates", "names, expiration and the last error"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const certificates = await api.result<Certificate[]>("GET", `${base}/server/certificates`);
    printResult(context, certificates, (paint) =>
      table(
        ["names", "source", "expires (UTC)", "error"],
        certificates.map(({ names, source, not_after: end, error }) => [
          names.join(" "),
          source,
          end === null ? "" : formatUtcTime(end),
          error,
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const serverEvents = defineCommand({
  name: "server events",
  summary: "print the changes of an account as they happen, until Ctrl-C",
  description: "With --json each event is one JSON object per line.",
  options: {
    topic: {
      type: "string",
      placeholder: "topic",
      multiple: true,
      summary: "only these topics, such as mail or videos",
    },
    ...serverOptions,
  },
  examples: [["reelpost server events --topic mail --topic queue", "changes of the message log and of the queue"]],
  async run({ topic, ...values }, _, context) {
    const { api, base } = await connectToApi(values, context);
    const interrupt = onInterrupt();
    try {
      const response = await api.raw("GET", `${base}/events`, {
        query: { ...(topic !== undefined && topic.length > 0 && { topics: topic.join(",") }) },
        // The stream has no end.
        timeoutMs: 3_600_000,
      });
      interrupt.signal.addEventListener("abort", () => void response.body?.cancel().catch(() => {}));
      let buffered = "";
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        const frames = (buffered + chunk).split("\n\n");
        buffered = frames.pop()!;
        for (const frame of frames) printFrame(frame);
      }
    } catch (err) {
      if (!interrupt.signal.aborted) throw err;
    } finally {
      interrupt.release();
    }
    return 0;

    function printFrame(frame: string) {
      const event = /^event: (.*)$/m.exec(frame)?.[1];
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (event === undefined || data === undefined) return;
      const { topic: changed = "", id = "" } = JSON.parse(data) as { topic?: string; id?: string };
      if (context.json) context.stdout.line(JSON.stringify({ event, ...(JSON.parse(data) as object) }));
      else if (event === "change") context.stdout.line(oneLine(`${changed.padEnd(12)} ${id}`.trimEnd()));
      else if (event === "resync") context.stderr.line("events may have been lost");
    }
  },
});

export const serverCommands: readonly Command[] = [
  serverHealth,
  serverInfo,
  serverSettings,
  serverCertificates,
  serverEvents,
];
