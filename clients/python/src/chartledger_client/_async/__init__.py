"""The calls of the asynchronous client. `npm run docs` writes those of the blocking one, `_sync`, from them."""
