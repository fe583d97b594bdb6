import { EventEmitter } from 'node:events';
import { type Bucket, IdempotencyStrategy, Storage } from '@google-cloud/storage';

const FORBIDDEN = [401, 403];

/** The library names no code where the body of a response is not in its format, as that of a proxy. */
interface BucketError {
  code?: unknown;
  message?: string;
  response?: { status?: number; statusCode?: number };
}

/**
 * Describes what is wrong with a Google Cloud Storage bucket, named by `setting`, for operators, and what to do. Undefined when
 * the error does not tell.
 */
export function gcsProblem(bucket: string, error: unknown, setting: string): string | undefined {
  const { code: named, message = '', response } = (error ?? {}) as BucketError;
  const code = named ?? response?.statusCode ?? response?.status;
  if (FORBIDDEN.includes(Number(code)))
    return `The bucket ${bucket} may not be used with these credentials. Give them the role Storage Object Admin on it.`;
  if (code === 404) return `There is no bucket ${bucket}. Create it, or correct ${setting}.`;
  if (/default credentials|invalid_grant/i.test(message))
    return `No valid credentials for the bucket ${bucket}. Set GOOGLE_APPLICATION_CREDENTIALS, or the workload's identity.`;
  return undefined;
}

/** The storage library adds 12 listeners for errors of one inner stream of a download; Node warns of leaks from 11 on. */
const LISTENERS_OF_A_DOWNLOAD = 12;

/** A bucket, and the prefix of the names of all objects in it. */
export interface OpenedBucket {
  bucket: Bucket;
  prefix: string;
}

/**
 * `gs://bucket/prefix`; `?endpoint=http://host:port` names an emulator, which is used without credentials. Requests may be
 * repeated for up to `patienceMs`, as two different things are never written under one name. Does not connect: the first call
 * does.
 */
export function openBucket(url: string, patienceMs: number): OpenedBucket {
  EventEmitter.defaultMaxListeners = Math.max(EventEmitter.defaultMaxListeners, LISTENERS_OF_A_DOWNLOAD);
  const { hostname, pathname, searchParams } = new URL(url);
  const endpoint = searchParams.get('endpoint');
  const storage = new Storage({
    ...(endpoint && { apiEndpoint: endpoint, projectId: 'emulator', useAuthWithCustomEndpoint: false }),
    retryOptions: {
      idempotencyStrategy: IdempotencyStrategy.RetryAlways,
      maxRetries: 3,
      maxRetryDelay: 1,
      totalTimeout: patienceMs / 1000,
    },
  });
  const path = decodeURIComponent(pathname).replace(/^\/|\/$/g, '');
  return { bucket: storage.bucket(hostname), prefix: path === '' ? '' : `${path}/` };
}
