export const principalTypes = ['api_key', 'source', 'user', 'operator', 'service'] as const;

/**
 * Who acts: an API key of a workspace, a source of a workspace that sends over MLLP and so without a key, a user of the
 * dashboard, an operator at the command line, or a part of the service by itself.
 */
export interface Principal {
  type: (typeof principalTypes)[number];
  id: string;
}

/** Whether it is a program that sends to a workspace or reads from it, by an API key or as a source. */
export function isProgram({ type }: Principal): boolean {
  return type === 'api_key' || type === 'source';
}

/** What an EMR sent: the id of the configured source, and that of the message, which is kept for some time. */
export interface EventSource {
  /** Of a message that was read again: number of the configuration of the source by which that was done. */
  configuration?: number;
  id: string;
  message: string;
}

/** What every event carries beside its data: who sent it, from where, in which request. */
export interface EventMetadata {
  workspace: string;
  principal: Principal;
  requestId: string;
  clientIp?: string;
  userAgent?: string;
  /** What the client calls its request (`X-Request-Id`): up to 128 printable ASCII characters. */
  clientRequestId?: string;
  /** The trace that the request is part of (W3C Trace Context). */
  traceparent?: string;
  /** Where it comes from, where that is a message of an EMR. */
  source?: EventSource;
  /** EventStoreDB's conventional name; the request that caused the event. */
  $correlationId: string;
  /** Version of the shape of the event's data. */
  schemaVersion: number;
  /**
   * 16 random bytes, hex: the event's leaf covers them, so that the leaf of an event that is gone tells nothing of what
   * it said. Events of earlier versions of the service have none.
   */
  salt?: string;
}
