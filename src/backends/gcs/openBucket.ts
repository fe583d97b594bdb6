import { type Bucket, IdempotencyStrategy, Storage } from '@google-cloud/storage';

/** A bucket, and what the names of all objects in it begin with. */
export interface OpenedBucket {
  bucket: Bucket;
  prefix: string;
}

/**
 * `gs://bucket/prefix`; `?endpoint=http://host:port` names an emulator, which is spoken to without credentials. Requests
 * may be repeated, as no name is used twice, for up to `patienceMs`. Does not connect: the first call does.
 */
export function openBucket(url: string, patienceMs: number): OpenedBucket {
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
