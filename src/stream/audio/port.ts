/** An added audio track, as the API shows it. */
export interface AddedTrack {
  uid: string;
  label: string;
  default: boolean;
  status: "queued" | "ready" | "error";
}
