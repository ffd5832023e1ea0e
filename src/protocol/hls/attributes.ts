/** Value in an attribute list (RFC 8216 4.2): a quoted string, or an unquoted word, number or resolution. */
export type AttributeValue = { quoted: string } | string | number;

/** Formats attributes as "NAME=value,NAME=\"value\"". Undefined values are omitted. */
export function attributeList(values: Record<string, AttributeValue | undefined>): string {
  return Object.entries(values)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${typeof value === "object" ? `"${toQuotable(value.quoted)}"` : value}`],
    )
    .join(",");
}

/** RFC 8216 4.2: a quoted string cannot contain or escape a line feed, carriage return or double quote. */
const toQuotable = (text: string) => text.replace(/"/g, "'").replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
