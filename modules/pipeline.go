package modules

import "reprise/modules/rewrite"

// PipelineVersion names what is done to a module before it runs. A run is bound to the version that it began
// under, because another one may count its gas or call depth otherwise.
const PipelineVersion = rewrite.PipelineVersion
