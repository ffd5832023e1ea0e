/** A command line, split into its parts. */
export interface Command {
  line: Buffer;
  /** Upper case. */
  verb: string;
  /** Everything behind the verb, without surrounding white space. */
  argument: string;
  /** The words of `argument`. */
  words: string[];
  /** The argument as that of MAIL and RCPT. */
  path?: { prefix: string; path: string; params: string[] };
  /** A web page made a browser speak to this port. */
  isHttp: boolean;
}

export function parseCommand(line: Buffer): Command {
  const text = line.toString();
  const space = text.search(/[ \t]/);
  const verb = (space === -1 ? text : text.slice(0, space)).toUpperCase();
  const argument = space === -1 ? "" : text.slice(space).trim();
  const command: Command = {
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
