import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import type { TlsSource } from "../../kernel/tls-source.ts";
import { inspectSpf, type SpfTree } from "../../mail/index.ts";
import { isSpf } from "../../protocol/spf/index.ts";
import { isAbsence, type Lookups } from "../../zones/index.ts";
import { passedFinding, type Finding } from "./finding.ts";

type HostLookups = Pick<Lookups, "resolve" | "resolve4" | "resolve6" | "resolveTxt">;

const CONNECT_TIMEOUT_MS = 3000;
const MAX_ADDRESSES = 4;
/** Maximum number of sender addresses to check. */
const MAX_SENDERS = 10;

async function addressesOf(host: string, { resolve4, resolve6 }: HostLookups): Promise<string[]> {
  const emptyOnAbsence = (err: unknown) => (isAbsence(err) ? [] : Promise.reject(err));
  return (await Promise.all([resolve4(host).catch(emptyOnAbsence), resolve6(host).catch(emptyOnAbsence)]))
    .flat()
    .slice(0, MAX_ADDRESSES);
}

/** Checks that an inbound mail host has addresses, and that a mail server responds at each of them. */
export async function checkMailHost(host: string, lookups: HostLookups, port = 25): Promise<Finding[]> {
  const addresses = await addressesOf(host, lookups);
  if (addresses.length === 0)
    return [
      {
        check: `address of ${host}`,
        status: "error",
        found: "none",
        fix: `Add an A record for ${host} with the address of this server, or set email.mx to a host that has one.`,
      },
    ];
  return [
    passedFinding(`address of ${host}`, addresses.join(", ")),
    ...(await Promise.all(addresses.map((address) => checkPort(host, address, port, /^220[ -]/)))),
  ];
}

/** Checks that a server responds on a port; with `greeting`, that it sends the expected greeting. */
export async function checkPort(host: string, address: string, port: number, greeting?: RegExp): Promise<Finding> {
  const check = `port ${port} of ${host} (${address})`;
  const socket = connect({ host: address, port, signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
  try {
    await once(socket, "connect");
    if (greeting === undefined) return passedFinding(check, "open");
    const [firstData] = (await once(socket, "data")) as [Buffer];
    const line = firstData.toString("latin1").split(/\r?\n/)[0]!.slice(0, 200);
    return greeting.test(line)
      ? passedFinding(check, line)
      : {
          check,
          status: "error",
          found: line,
          expected: "a mail server's greeting",
          fix: "Another service responds. Check which program listens on this port.",
        };
  } catch (err) {
    const found =
      (err as Error).name === "AbortError" || (err as Error).name === "TimeoutError"
        ? "timed out"
        : ((err as NodeJS.ErrnoException).code ?? (err as Error).message);
    return {
      check,
      status: "error",
      found,
      fix: `Open TCP port ${port} in the firewall, and let this server or a load balancer listen on it. Some providers open port 25 on request only. If the machine cannot reach its own public address, this error is a false alarm.`,
    };
  } finally {
    socket.destroy();
  }
}

/** Checks that sending servers can verify a host's certificate. */
export function checkHostCertificate(host: string, tls: Pick<TlsSource, "pem">, now: number): Finding {
  const check = `certificate for ${host}`;
  const certificate = new X509Certificate(tls.pem(host).cert);
  const names = (certificate.subjectAltName ?? certificate.subject).slice(0, 300);
  const daysLeft = Math.floor((Date.parse(certificate.validTo) - now) / 86_400_000);
  if (daysLeft < 0)
    return {
      check,
      status: "error",
      found: `expired on ${certificate.validTo}`,
      fix: "Renew the certificate in tls.cert_file, or search the log for ACME errors.",
    };
  if (certificate.checkHost(host) === undefined)
    return {
      check,
      status: "warning",
      found: names,
      expected: host,
      fix: "Senders that check certificates (MTA-STS, DANE) cannot deliver. Add the name to tls.acme_names, or to the certificate in tls.cert_file.",
    };
  if (certificate.issuer === certificate.subject)
    return {
      check,
      status: "warning",
      found: "self-signed",
      fix: "Mail is encrypted, but senders cannot verify the server. Set tls.acme_directory or tls.cert_file.",
    };
  return daysLeft < 14
    ? { check, status: "warning", found: `expires in ${daysLeft} days`, fix: "Renew the certificate." }
    : passedFinding(check, names);
}

/**
 * Checks that sender addresses are listed in SPF and have reverse DNS: large receivers reject mail from addresses
 * without them.
 */
export async function checkSendingHosts(include: string, lookups: HostLookups): Promise<Finding[]> {
  const texts = await lookups.resolveTxt(include).catch((err: unknown) => (isAbsence(err) ? [] : Promise.reject(err)));
  const record = texts.map((strings) => strings.join("")).find(isSpf);
  const check = `SPF at ${include}`;
  if (record === undefined)
    return [
      {
        check,
        status: "error",
        expected: `${include} TXT v=spf1 ip4:<address of this server> -all`,
        fix: "The SPF records of all domains include this record; without it, their mail fails SPF. Add it, or set email.spf_include to an existing record.",
      },
    ];
  const found = await inspectSpf(include, record, lookups.resolveTxt);
  const [problem] = found.problems;
  if (problem !== undefined)
    return [
      { check, status: "error", found: `${record}: ${problem.domain}: ${problem.message}`, fix: "Correct the record." },
    ];
  const addresses = singleTerms(found);
  return [
    passedFinding(check, record),
    ...(await Promise.all(addresses.map((address) => reverseOf(address, lookups)))),
  ];
}

/** Returns the single addresses in a record; which addresses of a network send mail is unknown. */
function singleTerms({ terms }: SpfTree): string[] {
  return terms
    .flatMap(({ type, value, result, nested }): string[] => {
      if (nested !== undefined) return singleTerms(nested);
      return (type === "IP4" || type === "IP6") &&
        result === "pass" &&
        (!value.includes("/") || /\/(32|128)$/.test(value))
        ? [value.replace(/^\+|\/.*$/g, "")]
        : [];
    })
    .slice(0, MAX_SENDERS);
}

async function reverseOf(address: string, lookups: HostLookups): Promise<Finding> {
  const check = `reverse DNS of ${address}`;
  const names = (
    (await lookups
      .resolve(reverseName(address), "PTR")
      .catch((err: unknown) => (isAbsence(err) ? [] : Promise.reject(err)))) as string[]
  ).slice(0, MAX_ADDRESSES);
  if (names.length === 0)
    return {
      check,
      status: "error",
      found: "none",
      fix: "Ask the provider of this address to set its reverse DNS to a host name of this server. Gmail and others reject mail without it.",
    };
  // Anyone can publish any PTR record, so the name must resolve back.
  for (const name of names)
    if ((await addressesOf(name, lookups)).some((one) => isSameAddress(one, address)))
      return passedFinding(check, name);
  return {
    check,
    status: "warning",
    found: names.join(", "),
    expected: `a name whose address is ${address}`,
    fix: `Add an address record for ${names[0]} with ${address}.`,
  };
}

export function reverseName(address: string): string {
  if (!address.includes(":")) return `${address.split(".").reverse().join(".")}.in-addr.arpa`;
  return `${[...hexOf(address)].reverse().join(".")}.ip6.arpa`;
}

const isSameAddress = (one: string, other: string): boolean =>
  one.includes(":") === other.includes(":") && (one === other || (one.includes(":") && hexOf(one) === hexOf(other)));

/** Returns the 32 hex digits of an IPv6 address. URL normalizes every notation. */
function hexOf(address: string): string {
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groups = (text: string | undefined) => (text === undefined || text === "" ? [] : text.split(":"));
  const [before, after] = [groups(head), groups(tail)];
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => "0"), ...after]
    .map((group) => group.padStart(4, "0"))
    .join("");
}
