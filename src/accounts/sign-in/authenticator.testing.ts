import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";

/** Errors that the authenticator makes. */
interface Faults {
  origin?: string;
  host?: string;
  /** False if the user was not verified by fingerprint or PIN. */
  verified?: boolean;
  counter?: number;
  signature?: Buffer;
}

const UP = 0x01;
const UV = 0x04;
/** The credential can be and is backed up. */
const SYNCED = 0x18;
const AT = 0x40;

/** Creates a browser with one discoverable credential in software (Web Authentication Level 3, ES256). */
export function createAuthenticator({ origin, synced = true }: { origin: string; synced?: boolean }) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const credentialId = randomBytes(16);
  const id = credentialId.toString("base64url");
  let userHandle: string | undefined;
  let counter = 0;

  const clientData = (type: string, challenge: string, at: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: at, crossOrigin: false }));
  const head = (host: string, flags: number) => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(synced ? 0 : ++counter);
    return Buffer.concat([sha256(host), Buffer.from([flags | (synced ? SYNCED : 0)]), count]);
  };
  const flagsOf = ({ verified = true }: Faults) => UP | (verified ? UV : 0);

  return {
    id,
    /** navigator.credentials.create() */
    create(options: PublicKeyCredentialCreationOptionsJSON, faults: Faults = {}): RegistrationResponseJSON {
      userHandle = options.user.id;
      const { x, y } = publicKey.export({ format: "jwk" });
      const coseKey = Buffer.concat([
        Buffer.from("a5010203262001215820", "hex"),
        Buffer.from(x!, "base64url"),
        Buffer.from("225820", "hex"),
        Buffer.from(y!, "base64url"),
      ]);
      const authData = Buffer.concat([
        head(faults.host ?? options.rp.id!, flagsOf(faults) | AT),
        Buffer.alloc(16),
        Buffer.from([0, credentialId.length]),
        credentialId,
        coseKey,
      ]);
      const attestation = Buffer.concat([
        Buffer.from("a363666d74646e6f6e656761747453746d74a068617574684461746158", "hex"),
        Buffer.from([authData.length]),
        authData,
      ]);
      return {
        id,
        rawId: id,
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData("webauthn.create", options.challenge, faults.origin ?? origin).toString(
            "base64url",
          ),
          attestationObject: attestation.toString("base64url"),
          transports: ["internal"],
        },
      };
    },
    /** navigator.credentials.get() */
    get(options: PublicKeyCredentialRequestOptionsJSON, faults: Faults = {}): AuthenticationResponseJSON {
      if (faults.counter !== undefined) counter = faults.counter;
      const authData = head(faults.host ?? options.rpId!, flagsOf(faults));
      const data = clientData("webauthn.get", options.challenge, faults.origin ?? origin);
      const signature = faults.signature ?? sign("sha256", Buffer.concat([authData, sha256(data)]), privateKey);
      return {
        id,
        rawId: id,
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: data.toString("base64url"),
          authenticatorData: authData.toString("base64url"),
          signature: signature.toString("base64url"),
          ...(userHandle !== undefined && { userHandle }),
        },
      };
    },
  };
}

const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest();
