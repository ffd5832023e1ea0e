/** Number of consecutive ports that a cluster needs, for radosgw, the monitor and the OSD. */
export const PORTS = 13;

/** Returns ceph.conf for a cluster without keys, ceph-mgr, systemd or files outside of `folder`. */
export function cephConfiguration({
  folder,
  port,
  clusterId,
}: {
  folder: string;
  /** The port of radosgw; the ports after it belong to the monitor and the OSD. */
  port: number;
  clusterId: string;
}): string {
  return `[global]
fsid = ${clusterId}
mon host = [v2:127.0.0.1:${port + 1}/0]
auth cluster required = none
auth service required = none
auth client required = none
# radosgw requests an encrypted session by default, which fails without keys: it would wait forever.
ms mon client mode = crc
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 2
osd pool default pgp num = 2
osd pool default pg autoscale mode = off
rgw rados pool pg num min = 2
mon allow pool size one = true
osd crush chooseleaf type = 0
# The monitor collects changes for a second. Each of seven new pools is one change.
paxos propose interval = 0.01
paxos min wait = 0.01
ms bind ipv6 = false
ms bind msgr1 = false
ms bind port min = ${port + 2}
ms bind port max = ${port + PORTS - 1}
run dir = ${folder}/run
admin socket =
pid file =
log file = ${folder}/$name.log
mon cluster log file = ${folder}/cluster.log
crash dir = ${folder}/run
keyring = /dev/null
[mon.a]
mon data = ${folder}/mon
[osd]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = ${8 * 2 ** 30}
[client.rgw]
rgw data = ${folder}/run
# Nagle's algorithm would delay each small response by 40 ms: radosgw writes header and body separately.
rgw frontends = beast endpoint=127.0.0.1:${port} tcp_nodelay=1
rgw enable apis = s3
rgw run sync thread = false
rgw enable quota threads = false
rgw thread pool size = 64
# Frees the memory of deleted objects. Reads that began before the deletion fail after this time.
rgw gc obj min wait = 20
rgw gc processor period = 20
# A completion that was interrupted locks its upload, by default for ten minutes.
rgw mp lock max time = 3
`;
}
