// Holds the manifests of deploy/ against the schemas of Kubernetes, which `npm run lint:kubernetes` has fetched.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadAll } from 'js-yaml';

const MANIFESTS = 'deploy/kubernetes/petstore.yaml';

const models = pathToFileURL(resolve('test-output/kubernetes/node_modules/kubernetes-models'));
for (const manifest of loadAll(readFileSync(MANIFESTS, 'utf8'))) {
  const { apiVersion, kind } = manifest;
  const { [kind]: Model } = await import(`${models}/${apiVersion}/${kind}.js`);
  new Model(manifest).validate();
  console.log(`${MANIFESTS}: ${apiVersion} ${kind} fits its schema`);
}
