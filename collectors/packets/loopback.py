"""The loopback interface: libpcap gets each packet twice, sent and received, and drops one."""

LOOPBACK = "772"
"""ARPHRD_LOOPBACK of linux/if_arp.h."""


def once(name, received):
    """Return how many packets of an interface libpcap hands on, of those that it was given."""
    try:
        with open("/sys/class/net/%s/type" % name) as file:
            both = file.read().strip() == LOOPBACK
    except OSError:
        both = False
    return received // 2 if both else received
