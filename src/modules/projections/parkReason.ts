import { currentVersion, UnknownSchemaVersion } from '../../domain/events/upcast.ts';

/**
 * Returns why an event was parked: the kind of error, as messages may contain data; for an event that a newer version
 * wrote, also its type and schema version.
 */
export function parkReason(error: unknown): string {
  if (error instanceof UnknownSchemaVersion) return `${error.name} ${error.shape}`;
  return error instanceof Error ? error.name : typeof error;
}

/** Whether an event that was parked for this reason can be read by this version of the service. */
export function canBeTakenUp(reason: string): boolean {
  const [, type = '', version] = /^UnknownSchemaVersion (\w+)\.v(\d+)$/.exec(reason) ?? [];
  if (version === undefined) return false;
  try {
    return Number(version) <= currentVersion(type);
  } catch {
    return false;
  }
}
