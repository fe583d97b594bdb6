import { everyTerm } from '../../domain/events/disclosureTerms.ts';
import { type ApiKey, stateOf } from '../../modules/auth/keyState.ts';
import { ServiceError } from '../../platform/errors.ts';
import { eventLogName, withKeys } from '../../server/withStores.ts';
import { writeJson, writeLine, writeTable } from '../lib/output.ts';

interface ListOptions {
  workspace?: string;
  json?: boolean;
}

/** Returns what is shown of a key: never its hash. */
function view(key: ApiKey) {
  const {
    id,
    workspace,
    name,
    permissions,
    createdAt,
    createdBy,
    expiresAt,
    networks,
    rateLimit,
    replacedBy,
  } = key;
  return {
    id,
    workspace,
    name,
    permissions,
    state: stateOf(key, Date.now()),
    created_at: createdAt,
    created_by: createdBy,
    expires_at: expiresAt ?? null,
    networks: networks ?? null,
    rate_limit: rateLimit ?? null,
    replaced_by: replacedBy ?? null,
    ...everyTerm(key.terms ?? {}),
  };
}

/** `chartledger keys list` */
export async function listKeys({ workspace, json }: ListOptions): Promise<void> {
  const found = await withKeys(async ({ known }) => {
    if (workspace !== undefined && !known.workspaces.has(workspace)) {
      throw new ServiceError('not_found', `Workspace ${workspace} does not exist.`);
    }
    const keys = [...known.keys.values()].map(view);
    return workspace === undefined ? keys : keys.filter((key) => key.workspace === workspace);
  });
  if (json) writeJson(found);
  else if (found.length === 0) {
    const none = workspace === undefined ? 'There are no keys yet' : `Workspace ${workspace} has no keys yet`;
    writeLine(`${none} in the event log ${eventLogName()}.`);
  } else
    writeTable(
      [
        ...['KEY', 'WORKSPACE', 'NAME', 'PERMISSIONS', 'STATE', 'CREATED', 'CREATED BY', 'EXPIRES'],
        ...['NETWORKS', 'RATE LIMIT', 'RECIPIENT', 'PURPOSE'],
      ],
      found.map((key) => [
        key.id,
        key.workspace,
        key.name,
        key.permissions.join(','),
        key.state,
        key.created_at,
        key.created_by.id,
        key.expires_at ?? '-',
        key.networks?.join(',') ?? '-',
        key.rate_limit === null ? '-' : `${key.rate_limit}/min`,
        key.recipient ?? '-',
        key.purpose ?? '-',
      ]),
    );
}
