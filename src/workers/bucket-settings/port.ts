import type { R2Change } from "../bindings/r2/index.ts";

/** A bucket of an account. */
export interface BucketRef {
  /** The bucket name used with R2Buckets. */
  id: string;
  /** "" in development. */
  account: string;
  name: string;
}

/**
 * Settings of one bucket. Without `cors`, it has no CORS policy; without `lifecycle`, it has the default lifecycle
 * rules.
 */
export interface BucketSettings {
  cors?: CorsRule[] | undefined;
  lifecycle?: LifecycleRule[] | undefined;
  notifications: NotificationRule[];
  /** True if the bucket is public on its managed host. */
  managedHostEnabled: boolean;
}

/** The representation used in the v4 API. */
export interface CorsRule {
  id?: string | undefined;
  allowed: {
    methods: CorsMethod[];
    /** `https://example.com`, with at most one asterisk. */
    origins: string[];
    /** Header names, with at most one asterisk each. */
    headers?: string[] | undefined;
  };
  exposeHeaders?: string[] | undefined;
  maxAgeSeconds?: number | undefined;
}

export const corsMethods = ["GET", "PUT", "POST", "DELETE", "HEAD"] as const;
export type CorsMethod = (typeof corsMethods)[number];

/** The representation used in the v4 API. `maxAge` is in seconds, `date` in ISO 8601. */
export interface LifecycleRule {
  id: string;
  enabled: boolean;
  conditions: { prefix: string };
  deleteObjectsTransition?: { condition: AgeOrDate } | undefined;
  abortMultipartUploadsTransition?: { condition: Age } | undefined;
  storageClassTransitions?: { condition: AgeOrDate; storageClass: "InfrequentAccess" }[] | undefined;
}

interface Age {
  type: "Age";
  maxAge: number;
}
export type AgeOrDate = Age | { type: "Date"; date: string };

/** Sends object changes to a queue. */
export interface NotificationRule {
  /** 32 hex digits. */
  id: string;
  /** Id of a queue of the account. */
  queue: string;
  /** ISO 8601. */
  createdAt: string;
  actions: R2Change["action"][];
  prefix?: string | undefined;
  suffix?: string | undefined;
  description?: string | undefined;
}

export const notificationActions = [
  "PutObject",
  "CopyObject",
  "DeleteObject",
  "CompleteMultipartUpload",
  "LifecycleDeletion",
] as const satisfies readonly R2Change["action"][];

export type DomainBucket = Pick<BucketRef, "id" | "account">;

/** A domain that serves a bucket publicly. */
export interface CustomDomain {
  /** Lower case. */
  domain: string;
  bucket: string;
  account: string;
  zone: string;
  enabled: boolean;
  minTls: TlsVersion;
  ciphers: string[];
}

export const tlsVersions = ["1.0", "1.1", "1.2", "1.3"] as const;
type TlsVersion = (typeof tlsVersions)[number];

/** Bucket settings. Every change resolves once it is on disk; other processes see it a few seconds later. */
export interface BucketSettingsStore {
  /** Returns settings that may have been cached for a few seconds. */
  get(bucketId: string): Promise<BucketSettings & Partial<BucketRef>>;
  /** Sets the CORS policy, or deletes it if `rules` is undefined. Throws invalidCors. */
  setCors(bucket: BucketRef, rules: CorsRule[] | undefined): Promise<void>;
  /** Throws invalidLifecycle. */
  setLifecycle(bucket: BucketRef, rules: LifecycleRule[]): Promise<void>;
  setManagedHost(bucket: BucketRef, enabled: boolean): Promise<void>;
  /** Adds rules for a queue. Throws tooManyNotifications. */
  addNotifications(
    bucket: BucketRef,
    queue: string,
    rules: Omit<NotificationRule, "id" | "queue" | "createdAt">[],
  ): Promise<void>;
  /** Removes rules for a queue, or without `ids`, all rules for the queue. Throws noNotification. */
  removeNotifications(bucket: BucketRef, queue: string, ids?: readonly string[]): Promise<void>;
  /**
   * The caller checks that the account owns the host, so a domain of another account is left over from a deleted zone
   * and is replaced. Throws domainTaken, invalidDomain, tooManyDomains.
   */
  addDomain(domain: CustomDomain): Promise<void>;
  /** Throws noDomain. */
  updateDomain(
    bucketId: string,
    domain: string,
    change: Partial<Pick<CustomDomain, "enabled" | "minTls" | "ciphers">>,
  ): Promise<CustomDomain>;
  /** Throws noDomain. */
  removeDomain(bucketId: string, domain: string): Promise<void>;
  listDomains(bucketId: string): Promise<CustomDomain[]>;
  /**
   * Resolves with the bucket that has an enabled custom domain of this name (lower case). The caller checks that the
   * account still owns the host.
   */
  findBucketByDomain(host: string): DomainBucket | undefined | Promise<DomainBucket | undefined>;
  /** Deletes the custom domains in a deleted zone. */
  removeZone(zone: string): Promise<void>;
  /** Ids of the zones with custom domains, in order, starting after `after`. */
  zonesOfDomains(after: string, limit: number): Promise<string[]>;
  /** Deletes the settings of a deleted bucket. */
  removeBucket(bucketId: string): Promise<void>;
  /** Accounts that have buckets with lifecycle rules, in the order of their ids, starting after `after`. */
  accountsWithLifecycle(after: string | undefined, limit: number): Promise<string[]>;
  /** Buckets of the account with lifecycle rules in the order of their ids, starting with `from`. */
  listWithLifecycle(account: string, from: string, limit: number): Promise<(BucketSettings & BucketRef)[]>;
}
