/** Folder in which the suite keeps what its last phase reads. */
export const outputFolder = process.env.TEST_OUTPUT ?? 'test/.output';
