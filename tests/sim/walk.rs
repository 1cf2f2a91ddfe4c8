//! VMs, SSH keys, IP addresses and billing (sections 4.5 to 4.8 of the interface), over plain HTTP: the answers
//! and their effects, as scripts (`support::play`). walk_hosting.rs has the other half.
#![allow(clippy::unwrap_used)]

use crate::support::play;

const EVERY_OPERATION_OF_VMS: &str = r#"
## list, by page numbers [vms=45]
GET vms/ => 200 {"count": 45, "results": 20, "previous": null, "next": "BASE/api/cvds/v1/vms/?page=2"}
GET vms/?page=3 => 200 {"count": 45, "results": 5, "previous": "*", "next": null}
GET vms/?page=4 => 404
GET vms/?page_size=100 => 200 {"results": 20}

## read
GET vms/10001/ => 200 {"id": 10001, "ips": [{"ipvalue": "*"}, {"ipvalue": "*"}], "ssh_keys": 1}
GET vms/1/ => 404

## create from an image
POST vms/ type=medium&arch=amd64&image=17&storage_type=vgssd&storage_size=80&keypair=71 => 201 @vms/10008/ {"ip": "*", "users": [{"root": "*"}]}
seen vms/10008/ pending building active
GET vms/10008/ => 200 {"ips": 1, "ssh_keys": [71], "ncpu": 2, "type": "medium"}

## create from what cannot be [unlimited]
POST vms/ type= => 400 !arch image storage_size storage_type type
POST vms/ type=medium&arch=amd64&image=17&storage_type=vg&storage_size=5 => 201
POST vms/ type=medium&arch=amd64&image=17&storage_type=vg&storage_size=250 => 201
POST vms/ type=medium&arch=amd64&image=17&storage_type=vg&storage_size=255 => 400 !storage_size
POST vms/ type=medium&arch=amd64&image=17&storage_type=vg&storage_size=7 => 400 !storage_size
POST vms/ type=medium&arch=amd64&image=17&storage_type=vg&storage_size=0 => 400 !storage_size
POST vms/ type=medium&arch=amd64&image=17&storage_type=vgssd&storage_size=85 => 400 !storage_size
POST vms/ type=medium&arch=amd64&image=17&storage_type=tape&storage_size=10 => 400 !storage_type
POST vms/ type=medium&arch=amd64&image=17&storage_type=vg&storage_size=ten => 400 !storage_size

## create from a disk, or a copy of it
POST vms/ type=small&storage=8001 => 201 @vms/10008/ {"ip": "*", "users": "-"}
GET vms/10008/ => 200 {"storages": [8001]}
POST vms/ type=small&storage=8001&storage_copy_origin=1 => 201 @vms/10009/
GET vms/10009/ => 200 {"storages": [8008]}
seen vms/10009/ pending building active

## change
PATCH vms/10001/ type=xlarge&name=%D0%B4%D1%80%D1%83%D0%B3 => 200
GET vms/10001/ => 200 {"type": "xlarge", "ncpu": 8, "memsize": 16384, "name": "друг"}

## start: like stop and reboot it answers with plain ids and no keys (section 2.5)
POST /_sim/set_vm {"vm": 10001, "state": "stopped"} => 204
POST vms/10001/start/ => 200 {"ips": [5001, 5002], "ssh_keys": "-"}
seen vms/10001/ pending active
POST vms/10001/start/ => 400 !state

## stop
POST vms/10001/stop/ => 200 {"ips": [5001, 5002], "ssh_keys": "-"}
seen vms/10001/ pending stopped
POST vms/10001/stop/ => 400 !state

## reboot
POST vms/10001/reboot/soft/ => 200 {"state": "pending", "ips": [5001, 5002], "ssh_keys": "-"}
seen vms/10001/ pending active
POST vms/10001/reboot/hard/ => 200 {"state": "pending", "ips": [5001, 5002], "ssh_keys": "-"}
seen vms/10001/ pending active
POST vms/1/reboot/soft/ => 404
POST vms/1/reboot/hard/ => 404

## delete, and its addresses go with it
DELETE vms/10001/ delete_storages=maybe => 400
DELETE vms/10001/ delete_storages=true => 204
GET vms/10001/ => 404
GET ips/5001/ => 404
"#;

#[tokio::test]
async fn every_operation_of_vms() {
    play(EVERY_OPERATION_OF_VMS).await;
}

const EVERY_OPERATION_OF_SSH_KEYS_AND_ADDRESSES: &str = r#"
## create a key
POST keys/ title=mine&pubkey=ssh-ed25519%20AAAAC3Nza%2Fy%3D%3D%20me@example.com => 201 @keys/73/ {"pubkey": "ssh-ed25519 AAAAC3Nza/y== me@example.com"}
GET keys/73/ => 200 {"title": "mine", "fingerprint": "*"}
POST keys/ pubkey=nonsense => 400 !pubkey title

## list keys [page=1]
GET keys/ => 200 {"count": 2, "results": [{"id": 71}], "next": "BASE/api/cvds/v1/ssh-keys/?page=2"}
GET keys/?page=2 => 200 {"results": [{"id": 72}], "next": null, "previous": "*"}

## read and delete a key
GET keys/71/ => 200 {"id": 71}
GET keys/1/ => 404
DELETE keys/71/ => 204
GET keys/71/ => 404
GET vms/10001/ => 200 {"ssh_keys": []}

## create an address
GET vms/10001/ => 200 {"vm_id": "$vm"}
POST ips/ vm_id=$vm&version=6 => 201 @ips/5010/ {"vm": 10001, "ipvalue": "*"}
GET ips/5010/ => 200 {"vm": 10001}
POST ips/ vm_id=someone-elses&version=4 => 403
POST ips/ vm_id=$vm&version=5 => 400 !version

## list addresses [vms=30]
GET ips/ => 200 {"count": 36, "results": 20, "next": "BASE/api/cvds/v1/ips/?page=2"}
GET ips/?page=2 => 200 {"results": 16, "next": null}

## list those of a VM by either id; the filter survives on the way to the next page [page=1]
GET vms/10001/ => 200 {"vm_id": "$vm"}
GET ips/?vm=10001 => 200 {"count": 2, "results": [{"id": 5001}], "next": "$next"}
GET $next => 200 {"results": [{"id": 5002, "vm": 10001}]}
GET ips/?vm=$vm => 200 {"count": 2, "results": [{"id": 5001}]}
GET ips/?vm=nobody => 200 {"count": 0}

## read and delete an address
GET ips/5001/ => 200 {"id": 5001, "vm": 10001}
GET ips/1/ => 404
DELETE ips/5001/ => 204
GET ips/5001/ => 404
GET vms/10001/ => 200 {"ips": [{"id": 5002}]}
"#;

#[tokio::test]
async fn every_operation_of_ssh_keys_and_addresses() {
    play(EVERY_OPERATION_OF_SSH_KEYS_AND_ADDRESSES).await;
}

const EVERY_OPERATION_OF_BILLING: &str = r#"
## the expected balance, paid for more than 90 days
GET /api/v1/expected_balance/2026-06-09/ => 200 {"edd": null, "error": null, "charge_moments": "*", "expected_balance": "*"}
GET /api/v1/expected_balance/2028-03-10/ => 200
GET /api/v1/expected_balance/2028-03-11/ => 400
GET /api/v1/expected_balance/2026-03-09/ => 404
GET /api/v1/expected_balance/soon/ => 404
GET /api/v1/expected_balance/2026-3-9/ => 404

## charges, which grow day by day
GET /api/v1/charge/ => 200 {"meta": {"next": "/api/v1/charge/?limit=20&offset=20", "total_count": "$total"}, "objects": 20}
GET /api/v1/charge/?limit=20&offset=$total => 200 {"objects": [], "meta": {"next": null}}
pass 86400
GET /api/v1/charge/?limit=1&offset=$total => 200 {"objects": 1}

## read a charge
GET /api/v1/charge/ => 200 {"objects": 20, "objects/0/resource_uri": "$charge"}
GET $charge => 200 {"resource_uri": "$charge"}
GET /api/v1/charge/1/ => 404
"#;

#[tokio::test]
async fn every_operation_of_billing() {
    play(EVERY_OPERATION_OF_BILLING).await;
}
