/** The AUTH mechanisms (RFC 4954) that send the password: PLAIN (RFC 4616) and LOGIN. */
export interface SaslCredentials {
  username: string;
  password: string;
}

type SaslStep =
  /** `text` is the text of the 334 reply, to which the client sends a response. */
  { kind: "challenge"; text: string } | { kind: "credentials"; credentials: SaslCredentials } | { kind: "invalid" };

/** One authentication exchange. */
export interface Sasl {
  /** `response` is undefined for AUTH without an initial response. */
  step(response: string | undefined): SaslStep;
}

export type SaslMechanism = "PLAIN" | "LOGIN";

const CONTROL_CHARS = /\p{Cc}/u;
const INVALID: SaslStep = { kind: "invalid" };

export const createSasl = (mechanism: SaslMechanism): Sasl =>
  mechanism === "PLAIN" ? createPlainMechanism() : createLoginMechanism();

function createPlainMechanism(): Sasl {
  return {
    step(response) {
      if (response === undefined) return { kind: "challenge", text: "" };
      const fields = decode(response)?.split("\0");
      if (fields?.length !== 3) return INVALID;
      const [authorization, authentication, password] = fields as [string, string, string];
      // Many clients send the user name as the authorization identity.
      const username = authentication || authorization;
      return CONTROL_CHARS.test(authorization + username)
        ? INVALID
        : { kind: "credentials", credentials: { username, password } };
    },
  };
}

function createLoginMechanism(): Sasl {
  let username: string | undefined;
  return {
    step(response) {
      if (response === undefined) return { kind: "challenge", text: base64("Username:") };
      const text = decode(response);
      if (text === undefined) return INVALID;
      if (username !== undefined) return { kind: "credentials", credentials: { username, password: text } };
      if (text === "" || CONTROL_CHARS.test(text)) return INVALID;
      username = text;
      return { kind: "challenge", text: base64("Password:") };
    },
  };
}

/** "=" is an empty response (RFC 4954 4). */
function decode(response: string): string | undefined {
  if (response === "=") return "";
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(response)
    ? Buffer.from(response, "base64").toString()
    : undefined;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
