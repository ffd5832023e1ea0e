/** A command line, split into its parts. */
export interface SmtpCommand {
  line: Buffer;
  /** Verb in upper case. */
  verb: string;
  /** Everything after the verb, without surrounding white space. */
  argument: string;
  /** The words of `argument`. */
  words: string[];
  /** The argument parsed like that of MAIL and RCPT. */
  path?: { prefix: string; path: string; params: string[] };
  /** True if the line is HTTP: a web page made a browser connect to this port. */
  isHttp: boolean;
}

export function parseCommand(line: Buffer): SmtpCommand {
  const text = line.toString();
  const space = text.search(/[ \t]/);
  const verb = (space === -1 ? text : text.slice(0, space)).toUpperCase();
  const argument = space === -1 ? "" : text.slice(space).trim();
  const command: SmtpCommand = {
    line,
    verb,
    argument,
    words: argument === "" ? [] : argument.split(/\s+/),
    isHttp: /^(?:OPTIONS|GET|HEAD|POST|PUT|DELETE|TRACE|CONNECT) \/.* HTTP\/\d\.\d$/i.test(text),
  };
  const colon = argument.indexOf(":");
  if (colon !== -1) {
    const [path = "", ...params] = argument
      .slice(colon + 1)
      .trim()
      .split(/\s+/);
    command.path = { prefix: argument.slice(0, colon).trim().toUpperCase(), path, params };
  }
  return command;
}
