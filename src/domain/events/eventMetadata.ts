export const principalTypes = ['api_key', 'source', 'user', 'operator', 'service'] as const;

/**
 * Who acts: an API key of a workspace, a source of a workspace that sends over MLLP and so without a key, a dashboard user, an
 * operator at the command line, or a part of the service itself.
 */
export interface Principal {
  type: (typeof principalTypes)[number];
  id: string;
}

/** Whether the principal is a program that sends to a workspace or reads from it, with an API key or as a source. */
export function isProgram({ type }: Principal): boolean {
  return type === 'api_key' || type === 'source';
}

/** What an EMR sent: the id of the configured source, and that of the message, which is kept for some time. */
export interface EventSource {
  /** For a message that was reprocessed: number of the source configuration used. */
  configuration?: number;
  id: string;
  message: string;
}

/** What every event carries besides its data: who sent it, from where, in which request. */
export interface EventMetadata {
  /** The workspace of the event's stream (`mayContain`), or `INSTALLATION`. */
  workspace: string;
  principal: Principal;
  requestId: string;
  clientIp?: string;
  userAgent?: string;
  /** The client's id for its request (`X-Request-Id`): up to 128 printable ASCII characters. */
  clientRequestId?: string;
  /** The trace that the request is part of (W3C Trace Context). */
  traceparent?: string;
  /** Its origin, if that is a message from an EMR. */
  source?: EventSource;
  /** EventStoreDB's conventional name; the request that caused the event. */
  $correlationId: string;
  /** Version of the shape of the event's data. */
  schemaVersion: number;
  /**
   * 16 random bytes, hex. The event's leaf covers them, so the leaf of an erased event reveals nothing of its contents. Absent in
   * events of earlier versions of the service.
   */
  salt?: string;
}
