/** A value of an attribute list (RFC 8216 4.2): a quoted string, or a word, number or resolution as it stands. */
export type AttributeValue = { quoted: string } | string | number;

/** "NAME=value,NAME=\"value\"". What is undefined is left out. */
export function attributeList(values: Record<string, AttributeValue | undefined>): string {
  return Object.entries(values)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${typeof value === "object" ? `"${quotable(value.quoted)}"` : value}`],
    )
    .join(",");
}

/** RFC 8216 4.2: a quoted string holds no line feed, no carriage return and no double quote, and there is no way to escape them. */
const quotable = (text: string) => text.replace(/"/g, "'").replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
