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
  if (code === 404) return `There is no bucket ${bucket}. Make it, or mend ${setting}.`;
  if (/default credentials|invalid_grant/i.test(message))
    return `No valid credentials for the bucket ${bucket}. Set GOOGLE_APPLICATION_CREDENTIALS, or the workload's identity.`;
  return undefined;
}
