// The shapes of palpate, by name.
#include "lab.h"

namespace lab
{
void registerPlugin(btCollisionDispatcher&, const Args&) {}
btCollisionShape* pluginPart(const std::string&, const Mesh&, const Args&, Keep&) { return nullptr; }
std::vector<btVector3> shellPoints(const btCollisionShape*, const Mesh& mesh) { return mesh.vertices; }
std::string pluginKinds() { return ""; }
}  // namespace lab
