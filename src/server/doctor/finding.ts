/** A check and its result, for users. */
export interface Finding {
  /** The check: "MX mx1.example.com", "DKIM reelpost", "port 25 of mx1.example.com". */
  check: string;
  status: "ok" | "warning" | "error";
  found?: string;
  expected?: string;
  fix?: string;
}

export const fine = (check: string, found?: string): Finding => ({
  check,
  status: "ok",
  ...(found !== undefined && { found }),
});

/** All findings in order. A failed check is a finding, too. */
export async function allOf(checks: Record<string, () => Promise<Finding[]>>): Promise<Finding[]> {
  const found = await Promise.all(
    Object.entries(checks).map(async ([check, look]): Promise<Finding[]> => {
      try {
        return await look();
      } catch (err) {
        return [
          {
            check,
            status: "warning",
            found: `could not be looked at: ${err instanceof Error ? err.message : String(err)}`,
            fix: "Try again. When it stays so, see that the resolvers of this server answer (dns.resolvers).",
          },
        ];
      }
    }),
  );
  return found.flat();
}
