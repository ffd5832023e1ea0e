import type { Clock } from "../../kernel/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { TlsSource } from "../../kernel/tls-source.ts";
import { createStsFetch, type Mail } from "../../mail/index.ts";
import { isAbsence, type Dns, type Zone } from "../../zones/index.ts";
import { runChecks, passedFinding, type Finding } from "./finding.ts";
import { checkHostCertificate, checkMailHost, checkPort, checkSendingHosts } from "./hosts.ts";
import { apiHostFindings } from "./api-hosts.ts";
import { databaseFindings } from "./database.ts";
import { objectStoreFindings } from "./objects.ts";
import { pauseFindings } from "./pauses.ts";
import { checkDelegation, checkDmarcRecord, checkZoneRecords } from "./records.ts";

interface DoctorOptions {
  settings: Settings;
  mail: {
    routing: Pick<Mail["routing"], "dns" | "settings">;
    queue: Pick<Mail["queue"], "pausesOf">;
    records: Mail["records"];
  };
  dns: {
    lookups: Dns["lookups"];
    publicLookups: Pick<Dns["publicLookups"], "resolve">;
    watch: Pick<Dns["watch"], "check">;
    pusher?: Pick<NonNullable<Dns["pusher"]>, "status"> | undefined;
    isManual: Dns["isManual"];
  };
  /** Resolves with the confinement of untrusted code and files in this process. */
  confinement(): Promise<Finding[]>;
  /** Stores and deletes an object, and resolves with the round trip in milliseconds. Absent if objects are in a folder. */
  checkBucket?: (() => Promise<number>) | undefined;
  tls: Pick<TlsSource, "pem">;
  clock: Pick<Clock, "now">;
  /** Findings about the nodes that share the database. */
  nodes?(): Finding[];
  /** Port of the mail servers. Default 25. */
  mailPort?: number;
}

const STS_TIMEOUT_MS = 5000;

/**
 * Diagnoses everything that mail for a name needs from public DNS and the network: its records, our hosts with their
 * ports, names and certificates. Never rejects because of a finding.
 */
export function createDoctor(parts: DoctorOptions): (zone: Zone, name?: string) => Promise<Finding[]> {
  const {
    settings,
    mail: { routing, queue, records },
    dns: { lookups, publicLookups, watch, pusher, isManual },
    tls,
    clock,
    mailPort = 25,
  } = parts;
  const { dns: dnsSettings, email, outbound } = settings;
  const hosts = [...new Set(email.mx.map((host) => host.toLowerCase().replace(/\.$/, "")))];
  const domain = email.forward_domain.toLowerCase();

  async function pushesOf(zone: Zone): Promise<Finding[]> {
    const check = `records at the ${dnsSettings.provider} server`;
    if (pusher === undefined || isManual(zone.name)) return [];
    const { done, problems } = await pusher.status(zone.id);
    if (problems.length > 0)
      return problems.map(({ owner, message }): Finding => ({ check, status: "error", found: `${owner}: ${message}` }));
    return [
      done
        ? passedFinding(check)
        : { check, status: "warning", found: "some changes are still pending", fix: "Retry in a minute." },
    ];
  }

  /** Bounces of forwarded mail return to this domain. */
  async function forwardDomainOf(): Promise<Finding[]> {
    const check = `MX of ${domain}`;
    const foundHosts = (
      await lookups.resolveMx(domain).catch((err: unknown) => (isAbsence(err) ? [] : Promise.reject(err)))
    ).map(({ exchange }) => exchange.toLowerCase());
    if (foundHosts.some((host) => hosts.includes(host))) return [passedFinding(check, foundHosts.join(", "))];
    return [
      {
        check,
        status: "error",
        ...(foundHosts.length > 0 && { found: foundHosts.join(", ") }),
        expected: hosts.join(", "),
        fix: "The envelope senders of forwarded mail are in this domain: receivers check that it exists, and bounces are sent to it. Add the MX and SPF records, or set email.forward_domain.",
      },
    ];
  }

  /** Without the key's DNS record, receivers cannot verify ARC seals and signatures of forwarded mail. */
  async function forwardKeysOf(): Promise<Finding[]> {
    const keys = (await records()).filter(({ name }) => name.includes("._domainkey."));
    return (await checkZoneRecords(domain, keys, watch)).map((finding) => ({
      ...finding,
      check: `${finding.check} of ${domain}`,
    }));
  }

  async function stsOf(name: string): Promise<Finding[]> {
    const check = "MTA-STS";
    const emptyOnAbsence = (err: unknown) => (isAbsence(err) ? [] : Promise.reject(err));
    const texts = (await lookups.resolveTxt(`_mta-sts.${name}`).catch(emptyOnAbsence))
      .map((strings) => strings.join(""))
      .filter((text) => text.startsWith("v=STSv1"));
    if (texts.length === 0)
      return [
        {
          check,
          status: "warning",
          expected: `_mta-sts.${name} TXT v=STSv1; …`,
          fix: "Without a policy, an attacker on the network path can read inbound mail. Set tls.https, or an https URL in http.public_url, to publish the policy automatically.",
        },
      ];
    const [host] = (await lookups.resolve(`mta-sts.${name}`, "CNAME").catch(emptyOnAbsence)) as string[];
    // Contacts only our own hosts: foreign records must not direct connections from this server.
    if (host === undefined || !hosts.includes(host))
      return [passedFinding(check, `${texts.join(", ")}, policy at ${host ?? `mta-sts.${name}`}`)];
    const fetched = await createStsFetch({ resolver: lookups, mayConnect: () => true, timeoutMs: STS_TIMEOUT_MS })(
      name,
      AbortSignal.timeout(2 * STS_TIMEOUT_MS),
    );
    return [
      fetched.ok
        ? passedFinding(check, `mode ${fetched.policy.mode}, mx ${fetched.policy.mx.join(", ")}`)
        : {
            check,
            status: "error",
            found: fetched.why,
            fix: `https://mta-sts.${name}/.well-known/mta-sts.txt must be served by this server with a certificate for that name. Forward port 443 to tls.https_port, and set tls.acme_directory.`,
          },
    ];
  }

  async function webOf(): Promise<Finding[]> {
    if (!settings.tls.https) return [];
    const addresses = await lookups
      .resolve4(hosts[0]!)
      .catch((err: unknown) => (isAbsence(err) ? [] : Promise.reject(err)));
    return Promise.all(addresses.slice(0, 1).map((address) => checkPort(hosts[0]!, address, 443)));
  }

  async function submissionOf(): Promise<Finding[]> {
    if (!settings.submission.enabled) return [];
    const addresses = await lookups
      .resolve4(hosts[0]!)
      .catch((err: unknown) => (isAbsence(err) ? [] : Promise.reject(err)));
    return (await Promise.all(addresses.slice(0, 1).map((address) => checkPort(hosts[0]!, address, 465)))).map(
      (finding) =>
        finding.status === "ok"
          ? finding
          : {
              ...finding,
              status: "warning",
              fix: "Mail clients expect submission on port 465. Forward it to submission.port.",
            },
    );
  }

  return (zone, name = zone.name) =>
    runChecks({
      [`delegation of ${zone.name}`]: async () =>
        dnsSettings.provider === "embedded" && !isManual(zone.name)
          ? checkDelegation(
              zone.name,
              zone.vanityNameServers.length > 0 ? zone.vanityNameServers : zone.nameServers,
              publicLookups,
            )
          : [],
      push: () => pushesOf(zone),
      routing: async () => {
        const { enabled, subdomains } = await routing.settings.of(zone);
        const isEnabled =
          name === zone.name ? enabled : subdomains.some((subdomain) => subdomain.name === name && subdomain.enabled);
        return [
          isEnabled
            ? passedFinding("Email Routing", "enabled")
            : {
                check: "Email Routing",
                status: "error",
                found: "disabled",
                fix: `Run \`reelpost email routing enable ${name}\`.`,
              },
        ];
      },
      records: async () => checkZoneRecords(name, await routing.dns.needed(zone, name), watch),
      DMARC: () => checkDmarcRecord(name, zone.name, lookups),
      "MTA-STS": () => stsOf(name),
      ...Object.fromEntries(
        hosts.map((host) => [
          host,
          async () => [...(await checkMailHost(host, lookups, mailPort)), checkHostCertificate(host, tls, clock.now())],
        ]),
      ),
      "port 443": webOf,
      "port 465": submissionOf,
      [`MX of ${domain}`]: forwardDomainOf,
      [`DKIM of ${domain}`]: forwardKeysOf,
      [`SPF at ${email.spf_include}`]: () => checkSendingHosts(email.spf_include, lookups),
      "paused deliveries": async () => pauseFindings(await queue.pausesOf(zone.account)),
      confinement: parts.confinement,
      nodes: async () => parts.nodes?.() ?? [],
      "database hosts": async () => databaseFindings(settings.database),
      "objects in S3": () => objectStoreFindings(parts.checkBucket),
      "host names": async () => apiHostFindings(settings),
      delivery: async () =>
        outbound.deliver === "files"
          ? [
              {
                check: "outbound mail",
                status: "warning",
                found: "written to files",
                expected: "mx or smart_host",
                fix: "This server does not send mail to the internet. Set outbound.deliver.",
              },
            ]
          : [passedFinding("outbound mail", outbound.deliver)],
    });
}
