import { readZoneFile, type RecordType } from "../../protocol/dns/index.ts";
import type { ServedRecord, ServedZone, ServedZones } from "./served.ts";

/** Returns zones parsed from master files, by name. A CNAME with the comment "flatten" is answered with addresses. */
export function zonesOf(
  files: Record<string, string>,
  nameServers = ["ns1.reelpost.example", "ns2.reelpost.example"],
): ServedZones & { reads(): number } {
  let reads = 0;
  const zones = Object.entries(files).map(([name, text]) => {
    const { records, problems } = readZoneFile(text, { origin: name });
    if (problems.length > 0) throw new Error(`${name}: ${JSON.stringify(problems)}`);
    const zone: ServedZone = { id: name, name, serial: 2_026_010_203, nameServers };
    return {
      zone,
      records: records.map((record): ServedRecord => ({
        name: record.name,
        type: record.type as RecordType,
        ttl: record.ttl ?? 1,
        data: record.data!,
        flatten: record.comment === "flatten",
      })),
    };
  });
  const recordsOf = (zone: ServedZone) => zones.find((one) => one.zone === zone)!.records;
  return {
    reads: () => reads,
    version: () => 1,
    async find(name) {
      reads++;
      const over = zones.filter(({ zone }) => name === zone.name || name.endsWith(`.${zone.name}`));
      return over.sort((a, b) => b.zone.name.length - a.zone.name.length)[0]?.zone;
    },
    async records(zone, names) {
      reads++;
      return recordsOf(zone).filter(({ name }) => names.includes(name));
    },
    async occupied(zone, name) {
      reads++;
      return recordsOf(zone).some((record) => record.name === name || record.name.endsWith(`.${name}`));
    },
  };
}

export const EXAMPLE = `$TTL 120
@ 300 MX 10 mx1
@ 300 MX 20 mx2.mail
@ 300 MX 30 mx.elsewhere.example.
@ 300 TXT "v=spf1 include:_spf.example.net ~all"
mx1 60 A 192.0.2.1
mx1 120 AAAA 2001:db8::1
mx2.mail A 192.0.2.2
_dmarc TXT "v=DMARC1; p=quarantine;"
www 60 CNAME web
web 30 A 192.0.2.80
web 30 A 192.0.2.81
out CNAME host.elsewhere.example.
away CNAME nothing
loop1 CNAME loop2
loop2 CNAME loop1
*.wild TXT "any"
there.wild A 192.0.2.3
deep.ent.wild A 192.0.2.4
*.alias CNAME web
sub NS ns.sub
sub NS ns.elsewhere.example.
sub DS 60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118
ns.sub A 192.0.2.53
ns.sub AAAA 2001:db8::53
hidden.sub A 192.0.2.66
inner.sub NS ns.elsewhere.example.
into CNAME www.sub
tochild CNAME www.child
child DS 60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118
_25._tcp.mx1 TLSA 3 1 1 ${"ab".repeat(32)}
_sip._tcp SRV 10 5 5060 web
svc HTTPS 1 . alpn="h2,h3" port=8443 ipv4hint=192.0.2.9
caa CAA 0 issue "letsencrypt.org"
loc LOC 42 21 54.5 N 71 6 18 W -24m 30m
naptr NAPTR 100 10 "s" "SIP+D2T" "" _sip._tcp
far A 192.0.2.7
large TXT ${Array.from({ length: 20 }, (_, index) => `"${"x".repeat(200)}${index}"`).join(" ")}
flat CNAME web ; flatten
`;
