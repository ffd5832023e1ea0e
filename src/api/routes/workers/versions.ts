import { z } from "@hono/zod-openapi";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { uploaderOf } from "./author.ts";
import {
  isOn,
  accountAndScript,
  requireVersion,
  WORKER_READ_OPTIONS,
  SCRIPT,
  UPLOAD_BYTES,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";
import { uploadNotices } from "./notices.ts";
import { receiveUpload } from "./receive.ts";
import { shownVersion, shownVersionItem, versionItemShape, versionShape } from "./shapes.ts";

/** The number of versions that can be deployed; older ones are not stored. */
const MAX_DEPLOYABLE = 100;

/** Lists versions of a script, and creates one without deploying it. */
export const versionRoutes = ({ scripts, offersAi = true }: WorkerRoutesDeps): Route[] => [
  route(
    {
      id: "worker-versions-list-versions",
      method: "get",
      path: `${SCRIPT}/versions`,
      summary: "List Versions",
      ...WORKER_READ_OPTIONS,
      query: z.object({ deployable: z.string().optional(), ...pageQuery({ perPage: MAX_DEPLOYABLE }) }),
      result: z.object({ items: z.array(versionItemShape) }),
    },
    async ({ params, query }) => {
      const page =
        isOn(query.deployable) && query.page === 1
          ? { page: 1, perPage: Math.max(MAX_DEPLOYABLE, query.per_page) }
          : pageRequest(query);
      const { result, info } = respondWithPage(
        await scripts.versions(...accountAndScript(params), page),
        page,
        shownVersionItem,
      );
      return respond({ items: result }, { info: info! });
    },
  ),

  route(
    {
      id: "worker-versions-upload-version",
      method: "post",
      path: `${SCRIPT}/versions`,
      summary: "Upload Version",
      ...WORKER_WRITE_OPTIONS,
      query: z.object({ bindings_inherit: z.string().optional() }),
      maxBytes: UPLOAD_BYTES,
      result: versionShape,
    },
    async (call) => {
      // Script settings are not part of a version: clients patch them together with the deployment.
      const { settings: _, ...upload } = await receiveUpload(call, {
        inheritStrictly: call.query.bindings_inherit === "strict",
      });
      const version = await scripts.createVersion(...accountAndScript(call.params), upload, uploaderOf(call));
      return respond(shownVersion(version), { messages: uploadNotices(version, { offersAi }) });
    },
  ),

  route(
    {
      id: "worker-versions-get-version-detail",
      method: "get",
      path: `${SCRIPT}/versions/{version_id}`,
      summary: "Get Version Detail",
      ...WORKER_READ_OPTIONS,
      result: versionShape,
    },
    async ({ params }) =>
      respond(shownVersion(await requireVersion(scripts, ...accountAndScript(params), params.version_id!))),
  ),
];
