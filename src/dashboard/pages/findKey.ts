import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import type { ApiKey } from '../../modules/auth/keyState.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Visit } from '../components/route.ts';

/** Returns the key named by the path; throws `not_found` also for one of another workspace. */
export function findKey({ known }: KeyDirectory, { req, workspace }: Visit): ApiKey {
  const key = known.keys.get(String(req.params.id));
  if (key?.workspace === workspace) return key;
  throw new ServiceError('not_found', 'There is no such key in the workspace.');
}
