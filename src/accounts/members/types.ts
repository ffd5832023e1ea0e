import type { Role } from "../roles.ts";
import type { MembershipStatus } from "../types.ts";

/** A user in an account, or one who was invited to it. */
export interface Member {
  /** Id of the membership: 32 hex digits. */
  id: string;
  account: string;
  /** While the invitation is pending, the names are null: another account may have entered them. */
  user: { id: string; email: string; firstName: string | null; lastName: string | null };
  role: Role;
  status: MembershipStatus;
  /** Present while the invitation is pending. */
  invitation?: Invitation;
}

interface Invitation {
  /** Email address of the user who sent it. */
  invitedBy: string;
  sentAt: number;
  /** Afterwards the invitation cannot be accepted, but it can be sent again. */
  expiresAt: number;
}

/** An invitation as the invited user sees it. */
export interface ReceivedInvitation extends Invitation {
  id: string;
  user: { id: string; email: string };
  account: { id: string; name: string; enforceTwofactor: boolean };
  role: Role;
}

export interface MemberQuery {
  status?: MembershipStatus | undefined;
  order?: "user.first_name" | "user.last_name" | "user.email" | "status" | undefined;
  direction?: "asc" | "desc" | undefined;
}

/** The email to an invited user. */
export interface InvitationEmail {
  to: string;
  account: string;
  invitedBy: string;
  role: Role;
  /** Accepts the invitation if sent together with the address. It is known only from this email. */
  secret: string;
  expiresAt: number;
}

/** Rejects with a UserError if the email cannot be sent. */
export type SendInvitation = (email: InvitationEmail) => Promise<void>;
