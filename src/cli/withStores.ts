import { userInfo } from 'node:os';
import { openEventLog, openReadModels } from '../backends/openBackend.ts';
import { loadConfig } from '../config.ts';
import { AccessDirectory } from '../keys/AccessDirectory.ts';
import type { Access } from '../keys/access.ts';
import { AccessManager } from '../keys/manageAccess.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { ReadModels } from '../ports/readModels.ts';
import type { Principal } from '../records/eventMetadata.ts';

export interface AccessTools {
  /** Workspaces and keys as they were when the command began, or after the last change. */
  access: Readonly<Access>;
  manager: AccessManager;
}

/** Whoever runs the command, by the name that the operating system knows. */
function operator(): Principal {
  try {
    return { type: 'operator', id: userInfo().username };
  } catch {
    return { type: 'operator', id: `uid-${process.getuid?.()}` };
  }
}

/**
 * Runs `work` on the event log that the environment names, as a service would find it (`src/config.ts`). A service may
 * be running on it. Rejects with what `work` rejects with, or `ConfigError`.
 */
async function withEventLog<Result>(work: (eventLog: EventLog) => Promise<Result>): Promise<Result> {
  const eventLog = await openEventLog(loadConfig(process.env).eventLogUrl);
  try {
    return await work(eventLog);
  } finally {
    await eventLog.close();
  }
}

/** Runs `work` on the workspaces and keys of that event log. */
export function withAccess<Result>(work: (tools: AccessTools) => Promise<Result>): Promise<Result> {
  return withEventLog(async (eventLog) => {
    const directory = await AccessDirectory.open(eventLog);
    try {
      const manager = new AccessManager(eventLog, directory, operator());
      return await work({ access: directory.access, manager });
    } finally {
      directory.close();
    }
  });
}

/** Runs `work` on that event log and the read models that the environment names. */
export function withStores<Result>(
  work: (eventLog: EventLog, readModels: ReadModels) => Promise<Result>,
): Promise<Result> {
  return withEventLog(async (eventLog) => {
    const readModels = await openReadModels(loadConfig(process.env).readModelUrl);
    try {
      return await work(eventLog, readModels);
    } finally {
      await readModels.close();
    }
  });
}
