import { isDmarc, policyOf } from "../../protocol/dmarc/index.ts";
import {
  isAbsence,
  type ExpectedRecord,
  type Lookups,
  type RecordWatch,
  type Verification,
} from "../../zones/index.ts";
import { passedFinding, type Finding } from "./finding.ts";

/** Top-level domains that cannot be registered: such a zone is only used on this machine or network. */
const PRIVATE_DOMAIN = /(^|\.)(test|example|invalid|localhost|local|internal|alt|home\.arpa)$/;

/** Checks that public DNS delegates to the zone's name servers. */
export async function checkDelegation(
  zone: string,
  expected: readonly string[],
  publicLookups: Pick<Lookups, "resolve">,
): Promise<Finding[]> {
  const check = `delegation of ${zone}`;
  const expectedText = expected.join(", ");
  if (PRIVATE_DOMAIN.test(zone)) return [passedFinding(check, "a private name, not in public DNS")];
  let delegated: string[];
  try {
    delegated = ((await publicLookups.resolve(zone, "NS")) as string[]).map((host) => host.toLowerCase());
  } catch (err) {
    if (!isAbsence(err)) throw err;
    return [
      {
        check,
        status: "error",
        found: "the domain does not exist in DNS",
        expected: expectedText,
        fix: `Register ${zone}, or delegate it in its parent zone, with the name servers ${expectedText}.`,
      },
    ];
  }
  const ownServers = delegated.filter((host) => expected.includes(host));
  const foundText = delegated.sort().join(", ");
  if (ownServers.length === 0)
    return [
      {
        check,
        status: "error",
        found: foundText,
        expected: expectedText,
        fix: `Other name servers are authoritative for ${zone}. Set its name servers to ${expectedText} at its registrar, or manage its records at those name servers (dns.provider, dns.manual_zones).`,
      },
    ];
  if (ownServers.length < delegated.length)
    return [
      {
        check,
        status: "warning",
        found: foundText,
        expected: expectedText,
        fix: "Some of the name servers belong to another provider and do not have this server's records. Remove them at the registrar.",
      },
    ];
  return [passedFinding(check, foundText)];
}

/** Checks that public DNS has the records that a name needs. */
export async function checkZoneRecords(
  name: string,
  expectedRecords: readonly ExpectedRecord[],
  watch: Pick<RecordWatch, "check">,
): Promise<Finding[]> {
  const { records, conflicts } = await watch.check(name, expectedRecords);
  return [
    ...records.map(findingOf),
    ...conflicts.map(({ kind, message }): Finding => ({
      check: kind === "foreignMx" ? "MX" : kind === "secondSpf" ? "SPF" : "DMARC",
      status: "error",
      found: message.slice(0, 300),
      fix: "Remove one of them.",
    })),
  ];
}

function findingOf({ record, state, found: foundValues, seen }: Verification["records"][number]): Finding {
  const content = record.priority === null ? record.content : `${record.priority} ${record.content}`;
  const expected = `${record.name} ${record.type} ${content}`;
  const check = labelOf(record);
  if (state === "right") return passedFinding(check, expected);
  if (state === "failed")
    return {
      check,
      status: "warning",
      expected,
      found: `lookup failed: ${seen[0]?.reason ?? "no response"}`,
      fix: "Retry.",
    };
  if (state === "wrong")
    return {
      check,
      status: "error",
      expected,
      found: foundValues.join(", "),
      fix:
        record.type === "TXT" && /v=spf1/i.test(record.content)
          ? "Add the include to the existing SPF record: a name can have only one."
          : "Replace the record.",
    };
  return { check, status: "error", expected, fix: "Add this record." };
}

function labelOf({ type, name, content }: { type: string; name: string; content: string }): string {
  if (type === "MX") return `MX ${content}`;
  const [selector] = name.split("._domainkey.");
  if (selector !== name) return `DKIM ${selector}`;
  if (name.startsWith("_dmarc.")) return "DMARC";
  if (/v=spf1/i.test(content)) return "SPF";
  return `${type} ${name}`;
}

/** Checks that the domain publishes a policy for unauthenticated mail. */
export async function checkDmarcRecord(
  name: string,
  organisation: string,
  lookups: Pick<Lookups, "resolveTxt">,
): Promise<Finding[]> {
  for (const domain of new Set([name, organisation])) {
    const texts = await lookups
      .resolveTxt(`_dmarc.${domain}`)
      .catch((err: unknown) => (isAbsence(err) ? [] : Promise.reject(err)));
    const [policy, ...more] = texts.map((strings) => strings.join("")).filter(isDmarc);
    if (more.length > 0)
      return [
        {
          check: "DMARC",
          status: "error",
          found: `${more.length + 1} records at _dmarc.${domain}`,
          expected: "one",
          fix: "Receivers ignore DMARC if there are several records. Keep one.",
        },
      ];
    if (policy === undefined) continue;
    const foundText = `_dmarc.${domain}: ${policy}`;
    return [
      policyOf(policy) === "none"
        ? {
            check: "DMARC",
            status: "warning",
            found: foundText,
            expected: "p=quarantine or p=reject",
            fix: "With p=none, receivers accept mail that fails DMARC. Set a stricter policy once the reports show that all legitimate mail passes.",
          }
        : passedFinding("DMARC", foundText),
    ];
  }
  return [
    {
      check: "DMARC",
      status: "warning",
      expected: `_dmarc.${name} TXT v=DMARC1; p=quarantine;`,
      fix: "Large mailbox providers require sending domains to have a DMARC record. Add one.",
    },
  ];
}
