/** Addresses in a field: separated by commas, semicolons or spaces. */
export const addressesOf = (text: string): string[] => text.split(/[\s,;]+/).filter((address) => address !== "");

/** Mailboxes in a field, such as `Ada <ada@example.com>, bob@example.com`: a comma in quotes is part of a name. */
export function mailboxesOf(text: string): { email: string; name?: string }[] {
  return (text.match(/(?:"(?:\\.|[^"\\])*"|[^,;"])+/g) ?? []).flatMap((part) => {
    const [, name = "", address] = /^([^<]*)<([^<>]*)>\s*$/.exec(part.trim()) ?? [];
    const email = (address ?? part).trim();
    if (email === "") return [];
    const displayName = name
      .trim()
      .replace(/^"(.*)"$/, "$1")
      .replace(/\\(.)/g, "$1");
    return [displayName === "" ? { email } : { email, name: displayName }];
  });
}
