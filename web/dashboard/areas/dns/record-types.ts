/** A field of a record in its form. */
export interface RecordField {
  /** Name in `data`; `content` and `priority` are fields of the record itself. */
  name: string;
  label: string;
  kind: "text" | "number" | "long";
  placeholder?: string;
  description?: string;
}

interface RecordTypeForm {
  type: string;
  /** One-line description for the type menu. */
  purpose: string;
  fields: readonly RecordField[];
}

const text = (name: string, label: string, placeholder?: string, description?: string): RecordField => ({
  name,
  label,
  kind: "text",
  ...(placeholder !== undefined && { placeholder }),
  ...(description !== undefined && { description }),
});
const number = (name: string, label: string, placeholder?: string): RecordField => ({
  ...text(name, label, placeholder),
  kind: "number",
});
const long = (name: string, label: string, placeholder?: string): RecordField => ({
  ...text(name, label, placeholder),
  kind: "long",
});
const digestFields = [
  number("usage", "Usage", "3"),
  number("selector", "Selector", "1"),
  number("matching_type", "Matching type", "1"),
  long("certificate", "Certificate (hex)"),
];
const serviceFields = [
  number("priority", "Priority", "1"),
  text("target", "Target", "."),
  text("value", "Parameters", 'alpn="h2"'),
];

/** The forms of all types that the server stores, the common ones first. */
export const RECORD_FORMS: readonly RecordTypeForm[] = [
  { type: "A", purpose: "IPv4 address", fields: [text("content", "IPv4 address", "192.0.2.1")] },
  { type: "AAAA", purpose: "IPv6 address", fields: [text("content", "IPv6 address", "2001:db8::1")] },
  { type: "CNAME", purpose: "Alias of another name", fields: [text("content", "Target", "www.example.net")] },
  {
    type: "MX",
    purpose: "Mail server",
    fields: [text("content", "Mail server", "mx1.example.com"), number("priority", "Priority", "10")],
  },
  { type: "TXT", purpose: "Text, for example SPF or DKIM", fields: [long("content", "Text", '"v=spf1 -all"')] },
  { type: "NS", purpose: "Delegation of a subdomain", fields: [text("content", "Name server", "ns1.example.net")] },
  {
    type: "SRV",
    purpose: "Host and port of a service",
    fields: [
      number("priority", "Priority", "10"),
      number("weight", "Weight", "5"),
      number("port", "Port", "443"),
      text("target", "Target", "host.example.com"),
    ],
  },
  {
    type: "CAA",
    purpose: "Certification authorities that may issue certificates",
    fields: [number("flags", "Flags", "0"), text("tag", "Tag", "issue"), text("value", "Value", "letsencrypt.org")],
  },
  { type: "TLSA", purpose: "Certificate of a TLS service (DANE)", fields: digestFields },
  { type: "HTTPS", purpose: "Connection parameters of a website", fields: serviceFields },
  { type: "SVCB", purpose: "Connection parameters of a service", fields: serviceFields },
  {
    type: "PTR",
    purpose: "Hostname of an IP address (reverse DNS)",
    fields: [text("content", "Name", "host.example.com")],
  },
  {
    type: "SSHFP",
    purpose: "Fingerprint of an SSH host key",
    fields: [
      number("algorithm", "Algorithm", "4"),
      number("type", "Type", "2"),
      long("fingerprint", "Fingerprint (hex)"),
    ],
  },
  {
    type: "DS",
    purpose: "DNSSEC key of a delegated zone",
    fields: [
      number("key_tag", "Key tag"),
      number("algorithm", "Algorithm", "13"),
      number("digest_type", "Digest type", "2"),
      long("digest", "Digest (hex)"),
    ],
  },
  {
    type: "DNSKEY",
    purpose: "DNSSEC key",
    fields: [
      number("flags", "Flags", "257"),
      number("protocol", "Protocol", "3"),
      number("algorithm", "Algorithm", "13"),
      long("public_key", "Public key (Base64)"),
    ],
  },
  {
    type: "NAPTR",
    purpose: "Rewriting rule",
    fields: [
      number("order", "Order", "100"),
      number("preference", "Preference", "10"),
      text("flags", "Flags", "U"),
      text("service", "Service", "E2U+sip"),
      text("regex", "Regular expression"),
      text("replacement", "Replacement", "."),
    ],
  },
  {
    type: "URI",
    purpose: "URI of a service",
    fields: [
      number("priority", "Priority", "10"),
      number("weight", "Weight", "1"),
      text("target", "URI", "https://example.com/"),
    ],
  },
  { type: "SMIMEA", purpose: "S/MIME certificate", fields: digestFields },
  {
    type: "CERT",
    purpose: "Certificate",
    fields: [
      number("type", "Type", "1"),
      number("key_tag", "Key tag"),
      number("algorithm", "Algorithm", "8"),
      long("certificate", "Certificate (Base64)"),
    ],
  },
  { type: "OPENPGPKEY", purpose: "OpenPGP key", fields: [long("content", "Public key (Base64)")] },
  { type: "LOC", purpose: "Location", fields: [text("content", "Location", "52 31 N 13 24 E 34m")] },
];

export const formOf = (type: string): RecordTypeForm =>
  RECORD_FORMS.find((form) => form.type === type) ?? { type, purpose: "", fields: [text("content", "Content")] };

interface StoredRecord {
  content: string;
  priority?: number;
  data: Record<string, unknown> | null;
}

/** Values of the form fields of a stored record. */
export function valuesOf(type: string, record: StoredRecord): Record<string, string> {
  return Object.fromEntries(
    formOf(type).fields.map(({ name }) => {
      const value =
        name === "content"
          ? record.content
          : name === "priority"
            ? (record.priority ?? record.data?.["priority"])
            : record.data?.[name];
      return [name, value === undefined ? "" : String(value)];
    }),
  );
}

/** Returns the part of a request that the fields of a form describe. */
export function requestOf(
  type: string,
  values: Record<string, string>,
): { content?: string; priority?: number; data?: Record<string, string | number> } {
  const { fields } = formOf(type);
  const data: Record<string, string | number> = {};
  const request: { content?: string; priority?: number; data?: typeof data } = {};
  for (const { name, kind } of fields) {
    const value = (values[name] ?? "").trim();
    if (name === "content") request.content = value;
    else if (name === "priority" && (type === "MX" || type === "URI")) request.priority = Number(value);
    else data[name] = kind === "number" ? Number(value) : value;
  }
  if (Object.keys(data).length > 0) request.data = data;
  return request;
}
