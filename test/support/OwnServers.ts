import { StandIn } from './standIn.ts';

/** An event log and a MongoDB server that nobody else uses. */
export class OwnServers {
  readonly eventLog: StandIn;
  readonly database: StandIn;

  constructor(eventLog: string[], database: string[]) {
    this.eventLog = new StandIn(eventLog);
    // MongoDB's journal keeps what was acknowledged. Killed by SIGKILL, what stands in for it keeps parts of its last second.
    this.database = new StandIn(database, (port) => `mongodb://127.0.0.1:${port}/chartledger`, 'SIGTERM');
  }

  /** Starts both; the settings of a service on them. */
  async start(): Promise<Record<string, string>> {
    await Promise.all([this.eventLog.start(), this.database.start()]);
    return { EVENT_LOG_URL: this.eventLog.url, READ_MODEL_URL: this.database.url };
  }

  async remove(): Promise<void> {
    await Promise.all([this.eventLog.remove(), this.database.remove()]);
  }
}
