/** Who acts: an API key of a workspace, an operator at the command line, or a part of the service by itself. */
export interface Principal {
  type: 'api_key' | 'operator' | 'service';
  id: string;
}

/** What every event carries beside its data: who sent it, from where, in which request. */
export interface EventMetadata {
  workspace: string;
  principal: Principal;
  requestId: string;
  clientIp?: string;
  userAgent?: string;
  /** EventStoreDB's conventional name; the request that caused the event. */
  $correlationId: string;
  /** Version of the shape of the event's data. */
  schemaVersion: number;
}
