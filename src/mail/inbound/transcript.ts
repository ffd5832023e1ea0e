/** One line of an SMTP session. */
export interface TranscriptLine {
  /** `C`: sent by the client; `S`: by this server; `*`: a connection event. */
  by: "C" | "S" | "*";
  text: string;
  /** The recipient that the line is about. Only the log of this recipient may show it. */
  rcpt?: string;
}

/** Records what a client and this server say, without message content and without secrets. */
interface Transcript {
  /** Records a command line. */
  client(line: string): void;
  /** Records the text of one or more replies, with line endings. */
  server(text: string): void;
  note(text: string): void;
  /** Returns the session up to its first transaction, and the current or last transaction. */
  lines(): TranscriptLine[];
}

const MAX_TEXT = 300;
/** Maximum number of lines before the first transaction, and at the beginning and the end of a transaction. */
const MAX_OPENING = 40;
const MAX_FIRST = 40;
const MAX_LAST = 40;
/**
 * The commands of RFC 5321 4.1.1, 3030, 3207 and 4954. Anything else may contain a secret that was sent at the wrong
 * time.
 */
const COMMAND = /^(EHLO|HELO|MAIL|RCPT|DATA|BDAT|RSET|NOOP|HELP|VRFY|QUIT|STARTTLS|AUTH)\b/i;

export function createTranscript(): Transcript {
  const opening: TranscriptLine[] = [];
  let first: TranscriptLine[] = [];
  let last: TranscriptLine[] = [];
  let omitted = 0;
  let transactions = 0;
  /** The recipient of the last command, for its reply. */
  let rcpt: string | undefined;

  function add(line: TranscriptLine) {
    if (transactions === 0) {
      if (opening.length < MAX_OPENING) opening.push(line);
    } else if (first.length < MAX_FIRST) first.push(line);
    else {
      last.push(line);
      if (last.length > MAX_LAST) {
        last.shift();
        omitted++;
      }
    }
  }
  const about = () => (rcpt === undefined ? {} : { rcpt });

  return {
    client(line) {
      const text = redacted(line);
      // Each transaction may belong to another account, so earlier ones are not kept (RFC 5321 3.3).
      if (/^MAIL\b/i.test(text)) {
        transactions++;
        first = [];
        last = [];
        omitted = 0;
      }
      rcpt = /^RCPT TO:\s*<([^>]*)>/i.exec(text)?.[1];
      add({ by: "C", text: text.slice(0, MAX_TEXT), ...about() });
    },
    server(text) {
      for (const line of text.split("\r\n"))
        if (line !== "") add({ by: "S", text: line.slice(0, MAX_TEXT), ...about() });
    },
    note: (text) => add({ by: "*", text: text.slice(0, MAX_TEXT) }),
    lines: () => [
      ...opening,
      ...(transactions > 1 ? [noteOf(`${transactions - 1} earlier transactions of this connection`)] : []),
      ...first,
      ...(omitted > 0 ? [noteOf(`${omitted} lines omitted`)] : []),
      ...last,
    ],
  };
}

const noteOf = (text: string): TranscriptLine => ({ by: "*", text });

function redacted(line: string): string {
  const verb = COMMAND.exec(line)?.[1];
  if (verb === undefined) return "(not a command)";
  if (verb.toUpperCase() !== "AUTH") return line;
  const [, mechanism] = /^AUTH +([A-Za-z0-9_-]{1,20})\b/i.exec(line) ?? [];
  return mechanism === undefined ? verb : `${verb} ${mechanism}${line.trim().includes(" ", 5) ? " (secret)" : ""}`;
}
