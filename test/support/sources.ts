import { v7 as uuidv7 } from 'uuid';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { configureSource } from '../../src/modules/integrations/sourceCommands.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

/** Configures two sources of a workspace: `epic`, which sends FHIR with a key, and `lab`, which sends HL7 v2. */
export async function configureSources(eventLog: EventLog, workspace: string, key: string): Promise<void> {
  const directory = await KeyDirectory.open(eventLog);
  const caller = { workspace, principal: { type: 'operator', id: 'setup' }, requestId: uuidv7() } as const;
  await configureSource({ eventLog, directory }, caller, {
    ...{ id: 'epic', format: 'fhir', key, time_zone: 'America/Chicago' },
    id_systems: { Coverage: 'urn:oid:2.16.840.1.113883.19.6' },
  });
  await configureSource({ eventLog, directory }, caller, {
    ...{ id: 'lab', format: 'hl7v2', time_zone: 'America/Denver', retention_days: 30 },
    ...{ patient_authority: 'ELMST', facility: { id: 'facility-3001', name: 'Elm Street Clinic' } },
  });
  directory.close();
}
