/** A check and its result, displayed to users. */
export interface Finding {
  /** Name of the check: "MX mx1.example.com", "DKIM reelpost", "port 25 of mx1.example.com". */
  check: string;
  status: "ok" | "warning" | "error";
  found?: string;
  expected?: string;
  fix?: string;
}

export const passedFinding = (check: string, found?: string): Finding => ({
  check,
  status: "ok",
  ...(found !== undefined && { found }),
});

/** Runs all checks and returns the findings in order. A failed check is also a finding. */
export async function runChecks(checks: Record<string, () => Promise<Finding[]>>): Promise<Finding[]> {
  const found = await Promise.all(
    Object.entries(checks).map(async ([check, look]): Promise<Finding[]> => {
      try {
        return await look();
      } catch (err) {
        return [
          {
            check,
            status: "warning",
            found: `check failed: ${err instanceof Error ? err.message : String(err)}`,
            fix: "Retry. If it persists, check that the resolvers respond (dns.resolvers).",
          },
        ];
      }
    }),
  );
  return found.flat();
}
