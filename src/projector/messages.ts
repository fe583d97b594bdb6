/** What the projector's thread says to the service, for its log. */
export type ProjectorMessage =
  | { kind: 'parked'; model: string; position: number; eventId: string; error: Record<string, unknown> }
  | { kind: 'retrying'; task: string; error: Record<string, unknown> };
