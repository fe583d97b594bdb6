import { EventEmitter } from 'node:events';
import { type Bucket, IdempotencyStrategy, Storage } from '@google-cloud/storage';

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
